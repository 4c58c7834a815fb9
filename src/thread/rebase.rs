//! Unsaved changes of a thread, made again after those of others.
//!
//! Several Emacsen may change one thread. What one of them could not save comes after what the others saved
//! meanwhile: its lists are merged into theirs as one revision, and its other records follow.

use std::collections::HashMap;
use std::sync::Arc;

use super::Thread;
use super::record::{Record, RevisionRecord};
use crate::list::change::diff;
use crate::list::item::{Author, Item, List};
use crate::list::merge::merge;

impl Thread {
    /// Makes changes again that led to `mine`, another copy of this thread. `records` are theirs, as far as they
    /// are known; `revision`, `before` and `next_id` are the number of the revision, the list and the number of the
    /// next item's id before them.
    pub(crate) fn change_again(
        &mut self,
        mine: &Thread,
        records: Vec<Record>,
        revision: u64,
        before: &List,
        next_id: u64,
    ) {
        for record in records {
            match record {
                Record::Observation(one) => {
                    let mut one = Arc::unwrap_or_clone(one);
                    one.number = self.observations.next_number();
                    self.make(Record::Observation(Arc::new(one)));
                }
                // The lists, and what the agent knows, are in one revision.
                Record::Revision(_) | Record::Known { .. } | Record::Unknown => {}
                record => self.make(record),
            }
        }
        let newest = mine.revisions.iter().next_back().filter(|newest| newest.number > revision);
        let Some(stamp) = newest.map(|newest| newest.stamp.clone()) else { return };
        let renamed = Renamed::of(self, mine, next_id);
        let mine_list = renamed.list(mine.list());
        let merged = match stamp.author {
            Author::User => merge(before, &mine_list, self.list()),
            Author::Agent => merge(before, self.list(), &mine_list),
        };
        let number = self.revisions.last() + 1;
        let next_id = renamed.next_id;
        let sent = diff(self.base(), &renamed.list(mine.base()));
        let made = RevisionRecord {
            number,
            stamp,
            changes: diff(self.list(), &merged.list),
            next_id,
            known: 0,
            sent: Some(sent),
            unanswered: mine.agent.is_unanswered(),
        };
        self.make(Record::Revision(made));
    }
}

/// The items of one copy of a thread whose ids the other copy gave to others.
struct Renamed {
    ids: HashMap<String, String>,
    next_id: u64,
}

impl Renamed {
    /// Those of `mine`; both copies gave ids from `next_id` on.
    fn of(theirs: &Thread, mine: &Thread, next_id: u64) -> Renamed {
        let mut renamed = Renamed { ids: HashMap::new(), next_id: theirs.next_id.max(mine.next_id) };
        if theirs.next_id > next_id {
            for number in next_id..mine.next_id {
                renamed.ids.insert(format!("t{number}"), format!("t{}", renamed.next_id));
                renamed.next_id += 1;
            }
        }
        renamed
    }

    fn list(&self, list: &[Arc<Item>]) -> List {
        let renamed = |item: &Arc<Item>| match self.ids.get(&item.id) {
            Some(id) => {
                let mut item = Item::clone(item);
                item.id.clone_from(id);
                Arc::new(item)
            }
            None => Arc::clone(item),
        };
        list.iter().map(renamed).collect()
    }
}
