//! Laws of revisions after any sequence of writes, edits and undos.

use proptest::prelude::*;
use todo_write::list::change::Change;

use crate::common::acts::{Act, acts, perform};
use crate::common::thread;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_open_task_of_the_user_stays_whatever_the_agent_sends(
        acts in acts(Act::of_list, 20),
        keep_completed in any::<bool>(),
    ) {
        let mut thread = thread();
        for (now, act) in acts.into_iter().enumerate() {
            let is_write = matches!(act, Act::Write { .. });
            let open: Vec<_> = thread.list().iter().filter(|item| item.is_users_open()).cloned().collect();
            let outcome = perform(&mut thread, act, keep_completed, now as u64);
            for (item, outcome) in open.iter().zip(outcome.iter().cycle()).filter(|_| is_write) {
                let is_cancelled = |change: &Change<_>| change.cancelled && change.item_id == item.id;
                let is_listed = thread.list().iter().any(|listed| listed.id == item.id);
                prop_assert!(is_listed || outcome.changes.iter().any(is_cancelled), "{item:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undo_ends_at_the_empty_list_after_as_many_steps_as_there_were_changes(acts in acts(Act::of_list, 20)) {
        let mut thread = thread();
        for act in acts.into_iter().filter(|act| !matches!(act, Act::Undo)) {
            perform(&mut thread, act, false, 1);
        }
        let revisions = thread.revisions().last() as usize;
        prop_assert_eq!((0..10_000).take_while(|_| thread.undo(9).is_ok()).count(), revisions);
        prop_assert_eq!(thread.list().len(), 0);
    }
}
