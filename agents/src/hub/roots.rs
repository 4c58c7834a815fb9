//! The threads of the roots.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::around::Common;
use super::bounds::WAIT;
use super::home::Home;
use super::pulse::Pulse;
use super::root::{Given, Order, run};
use super::watch::Changes;
use todo_write::wire::program::{Message, Settings};

/// The time for which a root may not answer before that is said.
const STUCK: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

#[derive(Debug)]
struct Thread {
    orders: Sender<Order>,
    pulse: Arc<Pulse>,
    is_stuck: bool,
}

#[derive(Debug)]
pub(super) struct Roots {
    common: Arc<Common>,
    /// None once the hub is closed. Held only for a moment.
    threads: Mutex<Option<HashMap<PathBuf, Thread>>>,
    /// Each thread has one, too.
    alive: Arc<()>,
}

impl Roots {
    pub(super) fn new(common: Arc<Common>) -> Roots {
        Roots { common, threads: Mutex::new(Some(HashMap::new())), alive: Arc::new(()) }
    }

    fn threads(&self) -> MutexGuard<'_, Option<HashMap<PathBuf, Thread>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a root something, which may be a home. Its thread begins when there is something to do, also after it
    /// broke.
    pub(super) fn tell(&self, root: &Path, settings: &Arc<Settings>, home: Option<&Arc<Home>>, order: Order) {
        let mut threads = self.threads();
        let Some(threads) = threads.as_mut() else { return };
        let order = match threads.get(root) {
            Some(thread) => match thread.orders.send(order) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => order,
        };
        if !matches!(order, Order::Follow(..) | Order::Home(Some(_)) | Order::Choose(..)) {
            return;
        }
        let (orders, receiver) = channel();
        let bell = orders.clone();
        let pulse = Arc::new(Pulse::new());
        let given = Given {
            root: root.to_owned(),
            common: Arc::clone(&self.common),
            settings: Arc::clone(settings),
            home: home.cloned(),
            changes: Arc::new(Changes::new(root, Box::new(move || drop(bell.send(Order::Look))))),
            pulse: Arc::clone(&pulse),
        };
        let alive = Arc::clone(&self.alive);
        let _ = orders.send(order);
        let begun = thread::Builder::new().name("todo-write-root".into()).spawn(move || {
            run(given, &receiver);
            drop(alive);
        });
        match begun {
            Ok(_) => drop(threads.insert(root.to_owned(), Thread { orders, pulse, is_stuck: false })),
            Err(_) => self.common.queue.push(Message::Broken(root.to_owned())),
        }
    }

    pub(super) fn tell_all(&self, order: impl Fn() -> Order) {
        self.threads().iter().flat_map(HashMap::values).for_each(|thread| drop(thread.orders.send(order())));
    }

    /// Whether a root does not answer, so that nothing else waits for it.
    pub(super) fn is_barred(&self, root: &Path) -> bool {
        let threads = self.threads();
        let thread = threads.as_ref().and_then(|threads| threads.get(root));
        thread.is_some_and(|thread| thread.pulse.is_over(WAIT))
    }

    /// Reports roots that do not answer, or do again.
    pub(super) fn look(&self) {
        for (root, thread) in self.threads().iter_mut().flatten() {
            let is_stuck = thread.pulse.is_over(STUCK);
            if std::mem::replace(&mut thread.is_stuck, is_stuck) != is_stuck {
                self.common.queue.push(Message::Stuck(root.clone(), is_stuck));
            }
        }
    }

    /// Ends the threads. One that a file system holds ends with that.
    pub(super) fn close(&self) {
        let threads = self.threads().take();
        threads.iter().flat_map(HashMap::values).for_each(|thread| drop(thread.orders.send(Order::Close)));
    }

    pub(super) fn is_alive(&self) -> bool {
        Arc::strong_count(&self.alive) > 1
    }
}
