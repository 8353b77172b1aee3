import type { Json } from '../base/json.ts'
import { broken, keys, values, words } from './vocabulary.ts'

/** A JSON tree for mutations: keys and leaves are raw text, so that they need not be valid JSON. */
export type Node = ObjectNode | ListNode | Leaf
interface ObjectNode {
  readonly kind: 'object'
  readonly members: { key: string; value: Node }[]
}
interface ListNode {
  readonly kind: 'list'
  readonly items: Node[]
}
interface Leaf {
  readonly kind: 'leaf'
  readonly text: string
}

/** One mutation: kind, place and variant. All numbers are valid: each is taken modulo the number of choices. */
export type Step = readonly [what: number, where: number, how: number]

export const pick = <T>(list: readonly T[], at: number): T => list[at % list.length] as T

const leaf = (text: string): Leaf => ({ kind: 'leaf', text })

export function nodeOf(value: Json): Node {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(nodeOf) }
  if (typeof value === 'object' && value !== null)
    return {
      kind: 'object',
      members: Object.entries(value).map(([key, member]) => ({ key: JSON.stringify(key), value: nodeOf(member) })),
    }
  return leaf(JSON.stringify(value))
}

function textOfNode(node: Node): string {
  if (node.kind === 'leaf') return node.text
  if (node.kind === 'list') return `[${node.items.map(textOfNode).join(',')}]`
  return `{${node.members.map(({ key, value }) => `${key}:${textOfNode(value)}`).join(',')}}`
}

function copyOf(node: Node): Node {
  if (node.kind === 'leaf') return node
  if (node.kind === 'list') return { kind: 'list', items: node.items.map(copyOf) }
  return { kind: 'object', members: node.members.map(({ key, value }) => ({ key, value: copyOf(value) })) }
}

interface Slot {
  readonly parent: ObjectNode | ListNode
  readonly at: number
}

/** Returns every place in the tree, the root's first. */
function slotsOf(parent: ObjectNode | ListNode, slots: Slot[] = []): Slot[] {
  const { length } = parent.kind === 'list' ? parent.items : parent.members
  for (let at = 0; at < length; at++) {
    slots.push({ parent, at })
    const node = nodeAt({ parent, at })
    if (node.kind !== 'leaf') slotsOf(node, slots)
  }
  return slots
}

const nodeAt = ({ parent, at }: Slot): Node =>
  parent.kind === 'list' ? (parent.items[at] as Node) : (parent.members[at] as { value: Node }).value

function put({ parent, at }: Slot, node: Node): void {
  if (parent.kind === 'list') parent.items[at] = node
  else (parent.members[at] as { value: Node }).value = node
}

const hostileKey = (how: number): string => `"${pick(keys, how)}"`

function rename({ parent, at }: Slot, how: number): void {
  if (parent.kind === 'object') (parent.members[at] as { key: string }).key = hostileKey(how)
  else parent.items.reverse()
}

/** Maximum growth by a repetition; other tests cover long bodies. */
const mostChars = 100_000

function repeat({ parent, at }: Slot, wanted: number): void {
  const times = Math.min(wanted, Math.ceil(mostChars / textOfNode(nodeAt({ parent, at })).length))
  const list: unknown[] = parent.kind === 'list' ? parent.items : parent.members
  list.splice(at, 0, ...Array.from({ length: times }, () => list[at]))
}

function insert({ parent, at }: Slot, how: number): void {
  const value = leaf(pick(values, how))
  if (parent.kind === 'list') parent.items.splice(at, 0, value)
  else parent.members.splice(at, 0, { key: hostileKey(how >> 3), value })
}

/** Inserts a special sequence into a text. */
function spoilText(slot: Slot, how: number): void {
  const node = nodeAt(slot)
  if (node.kind !== 'leaf' || !node.text.startsWith('"') || node.text.length < 2) {
    put(slot, leaf(JSON.stringify(node.kind === 'leaf' ? node.text : pick(words, how))))
    return
  }
  const awkward = pick(
    ['\\ud800', '\\u0000', '\\udfff', '\\n', '\\"', '\u{1f600}', '\\\\', '\u2029', 'é', ' ', ',', '*'],
    how,
  )
  const at = 1 + (how % (node.text.length - 1))
  // An insertion within an escape would be another kind of mutation.
  const safe = node.text[at - 1] === '\\' ? at - 1 : at
  put(slot, leaf(`${node.text.slice(0, safe)}${awkward}${node.text.slice(safe)}`))
}

/** Mutations of a place, with another place to copy from. Kinds with a deep effect are listed several times. */
const changes: readonly ((slot: Slot, how: number, other: Slot) => void)[] = [
  (slot, how) => put(slot, leaf(pick(values, how))),
  (slot, how) => put(slot, leaf(pick(values, how))),
  (slot, how) => put(slot, leaf(`"${pick(words, how)}"`)),
  (slot, how) => put(slot, leaf(`"${pick(words, how)}"`)),
  ({ parent, at }) => void (parent.kind === 'list' ? parent.items : parent.members).splice(at, 1),
  ({ parent, at }) => void (parent.kind === 'list' ? parent.items : parent.members).splice(at, 1),
  (slot) => repeat(slot, 1),
  insert,
  insert,
  rename,
  spoilText,
  (slot, _, other) => {
    const node = nodeAt(slot)
    put(slot, copyOf(nodeAt(other)))
    put(other, copyOf(node))
  },
  (slot, _, other) => put(slot, copyOf(nodeAt(other))),
  (slot) => put(slot, { kind: 'list', items: [nodeAt(slot)] }),
  (slot, how) => put(slot, { kind: 'object', members: [{ key: hostileKey(how), value: nodeAt(slot) }] }),
  (slot, how) => repeat(slot, how % 60),
  (slot, how) => put(slot, leaf(JSON.stringify(textOfNode(nodeAt(slot)).slice(0, how % 2000)))),
  (slot, how) => (how % 4 === 0 ? put(slot, leaf(pick(broken, how >> 2))) : put(slot, leaf(pick(values, how >> 2)))),
]

/** Returns the tree as text after these mutations. The tree itself stays unchanged. */
export function mutateJson(node: Node, steps: readonly Step[]): string {
  if (steps.length === 0) return textOfNode(node)
  const top: ListNode = { kind: 'list', items: [copyOf(node)] }
  for (const [what, where, how] of steps) {
    const slots = slotsOf(top)
    if (slots.length === 0) break
    pick(changes, what)(pick(slots, where), how, pick(slots, where * 7 + how))
    // Repeated mutations grow a tree fast.
    if (slots.length > 3000) break
  }
  return top.items.map(textOfNode).join(' ')
}
