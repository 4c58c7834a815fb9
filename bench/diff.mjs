// Measures the method of the change tracking design, and answers each line of input:
//
//   SIZE CASE ROUNDS  →  NANOSECONDS-A-DIFF ADDED MODIFIED REMOVED
//
// The method builds a map by id of each list, compares the fields of its list deeply, clones
// items into the changes and filters the accessors.  The lists are those of bench/src/lib.rs;
// each is parsed from JSON, as lists from a model are.

import { createInterface } from 'node:readline';

const FIELDS = [
  'id', 'description', 'status', 'dependencies', 'stepType', 'requiredTools', 'expectedOutcome',
  'toolValidationMode', 'result', 'thoughts', 'toolCalls', 'actualToolCalls', 'toolResults',
  'validationStatus', 'createdTimestamp',
];

function equal(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => equal(a[key], b[key]));
}

function diff(previous, current) {
  const timestamp = Date.now();
  const before = new Map(previous.map((item) => [item.id, item]));
  const after = new Map(current.map((item) => [item.id, item]));
  const changes = [];
  for (const [itemId, item] of after) {
    const old = before.get(itemId);
    if (old === undefined) {
      changes.push({ type: 'added', itemId, timestamp, item: { ...item } });
    } else if (FIELDS.some((field) => !equal(old[field], item[field]))) {
      changes.push({ type: 'modified', itemId, timestamp, item: { ...item }, previousItem: { ...old } });
    }
  }
  for (const [itemId, old] of before) {
    if (!after.has(itemId)) {
      changes.push({ type: 'removed', itemId, timestamp, previousItem: { ...old } });
    }
  }
  const of = (type) => changes.filter((change) => change.type === type);
  return { timestamp, changes, added: of('added'), modified: of('modified'), removed: of('removed') };
}

const VERBS = ['Parse', 'Render', 'Check', 'Send', 'Store', 'Sort', 'Count', 'Merge'];

function item(n, current) {
  const description = `${VERBS[n % 8]} the records of customer ${n * 7919} in region ${n % 97}`;
  const status = n < current ? 'completed' : n === current ? 'in_progress' : 'pending';
  return { id: `t${n + 1}`, description, status, activeForm: `At it: ${description}` };
}

const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n);

function edited(size, current) {
  const reworded = range(0, size).filter((n) => n % 100 !== 50).map((n) => {
    const task = item(n, current);
    return n % 10 === 0 ? { ...task, description: `${task.description} again` } : task;
  });
  const added = range(size, size + Math.floor(size / 100)).map((n) => item(n, current));
  return reworded.concat(added);
}

const fresh = (value) => JSON.parse(JSON.stringify(value));
const lists = new Map();

function listsOf(size, kind) {
  const key = `${size} ${kind}`;
  if (!lists.has(key)) {
    const current = Math.floor(size / 2);
    const before = range(0, size).map((n) => item(n, current));
    const after = kind === 'edited'
      ? edited(size, current)
      : range(0, size).map((n) => item(n, current + 1));
    lists.set(key, [fresh(before), fresh(after)]);
  }
  return lists.get(key);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [size, kind, rounds] = line.split(' ');
  const [before, after] = listsOf(Number(size), kind);
  let changes;
  const start = process.hrtime.bigint();
  for (let round = 0; round < Number(rounds); round++) changes = diff(before, after);
  const nanoseconds = Number(process.hrtime.bigint() - start) / Number(rounds);
  console.log(nanoseconds, changes.added.length, changes.modified.length, changes.removed.length);
}
