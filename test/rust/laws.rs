//! The laws of the module.

use crate::common::laws::LAWS;

macro_rules! laws_hold {
    ($($name:ident)*) => {
        mod law_holds {
            $(#[test] fn $name() { crate::trial::try_law(stringify!($name), crate::common::laws::$name::holds); })*
        }

        #[test]
        fn every_law_has_a_test() {
            assert_eq!(LAWS.map(|(name, _)| name), [$(stringify!($name)),*]);
        }
    };
}

laws_hold!(input shape change merge thread journal stream);
