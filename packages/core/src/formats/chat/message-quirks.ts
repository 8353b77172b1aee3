import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { Loss } from '../ir.ts'
import { append, toText } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'
import type { Quirks } from '../target-traits.ts'

/** The support for a field that the upstream lacks. */
export type FieldSupport = NonNullable<Quirks['lacks']>[string]

/** The quirks that concern messages, indexed. */
interface Rules {
  readonly quirks: Quirks
  /** Missing fields of messages by role; the key '' is for all roles. */
  readonly lacking: ReadonlyMap<string, readonly (readonly [field: string, support: FieldSupport])[]>
}

const known = new WeakMap<Quirks, Rules | null>()

function rulesOf(quirks: Quirks): Rules | null {
  let rules = known.get(quirks)
  if (rules !== undefined) return rules
  const lacking = new Map<string, [string, FieldSupport][]>()
  for (const [key, support] of Object.entries(quirks.lacks ?? {})) {
    const [, role, field] = /^messages\[(\w*)\]\.(.+)$/.exec(key) ?? []
    if (role === undefined || field === undefined) continue
    const fields = lacking.get(role) ?? []
    fields.push([field, support])
    lacking.set(role, fields)
  }
  const { developerRole, shortCallIds, alternatingRoles, bareAudio } = quirks
  const any =
    lacking.size > 0 || developerRole === 'system' || shortCallIds === true || alternatingRoles === true || bareAudio
  rules = any ? { quirks, lacking } : null
  known.set(quirks, rules)
  return rules
}

/** Returns the messages in a form that the upstream accepts; undefined if nothing changes. */
export function applyMessageQuirks(body: JsonObject, quirks: Quirks, losses: Loss[]): Json[] | undefined {
  const rules = rulesOf(quirks)
  // Most upstreams accept all messages. Reading `messages` would parse a large body.
  if (rules === null) return undefined
  const { messages } = body
  if (!Array.isArray(messages)) return undefined
  const ids = quirks.shortCallIds ? createShortIds(messages) : undefined
  let changed = false
  let fitted: Json[] = messages.map((message, index) => {
    if (!isObject(message)) return message
    const out = fitMessage(message, index, rules, ids, losses)
    if (out !== message) changed = true
    return out
  })
  if (quirks.alternatingRoles) {
    const ordered = alternate(fitted, losses)
    if (ordered !== fitted) changed = true
    fitted = ordered
  }
  return changed ? fitted : undefined
}

/** Returns the same message if nothing changes. */
function fitMessage(
  message: JsonObject,
  index: number,
  { quirks, lacking }: Rules,
  ids: ShortIds | undefined,
  losses: Loss[],
): JsonObject {
  let out = message
  const change = (): JsonObject => {
    if (out === message) out = { ...message }
    return out
  }
  if (message.role === 'developer' && quirks.developerRole === 'system') change().role = 'system'
  const role = typeof message.role === 'string' ? message.role : ''
  for (const list of [lacking.get(''), lacking.get(role)])
    for (const [field, support] of list ?? []) {
      const value = message[field]
      if (value === undefined) continue
      const empty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
      if (support === 'refused' || (support === 'limited' && !empty)) {
        delete change()[field]
        if (!empty && !keepElsewhere(field, value, change(), quirks, losses, index)) tell(field, index, losses)
      } else if (!empty && !isTold(field, message, quirks)) tell(field, index, losses)
    }
  if (ids !== undefined) shortenIds(message, change, ids)
  if (quirks.bareAudio && Array.isArray(message.content)) bareAudio(message.content, change)
  return out
}

const reasoningFields: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'reasoning_details'])

/** Returns whether the upstream gets the same reasoning in another field. */
const isTold = (field: string, message: JsonObject, { reasoningField }: Quirks): boolean =>
  reasoningFields.has(field) && reasoningField !== undefined && typeof message[reasoningField] === 'string'

/** Moves a value to another field, if possible, and reports an approximation. Returns whether it was moved. */
function keepElsewhere(
  field: string,
  value: Json,
  out: JsonObject,
  { reasoningField }: Quirks,
  losses: Loss[],
  index: number,
): boolean {
  if (reasoningFields.has(field) && reasoningField !== undefined && reasoningField !== field) {
    if (typeof out[reasoningField] === 'string') return true
    if (typeof value !== 'string') return false
    out[reasoningField] = value
    return true
  }
  if (field !== 'refusal' || typeof value !== 'string') return false
  if (out.content !== undefined && out.content !== null && out.content !== '') return false
  out.content = value
  losses.push(loss(pointer(`/messages/${index}`, field), 'the refusal is sent as content', 'approximated', 'note'))
  return true
}

function tell(field: string, index: number, losses: Loss[]): void {
  const isMinor = reasoningFields.has(field) || field === 'name' || field === 'annotations'
  losses.push(
    loss(
      pointer(`/messages/${index}`, field),
      `the upstream does not accept ${field} in messages`,
      'unsupported',
      isMinor ? 'note' : 'warn',
    ),
  )
}

function shortenIds(message: JsonObject, change: () => JsonObject, ids: ShortIds): void {
  const { tool_call_id: answered, tool_calls: calls } = message
  if (typeof answered === 'string' && ids.of(answered) !== answered) change().tool_call_id = ids.of(answered)
  if (!Array.isArray(calls)) return
  const shorten = (call: Json): Json =>
    isObject(call) && typeof call.id === 'string' && ids.of(call.id) !== call.id
      ? { ...call, id: ids.of(call.id) }
      : call
  if (calls.some((call) => shorten(call) !== call)) change().tool_calls = calls.map(shorten)
}

function bareAudio(content: readonly Json[], change: () => JsonObject): void {
  const bare = (part: Json): Json =>
    isObject(part) &&
    part.type === 'input_audio' &&
    isObject(part.input_audio) &&
    typeof part.input_audio.data === 'string'
      ? { ...part, input_audio: part.input_audio.data }
      : part
  if (content.some((part) => bare(part) !== part)) change().content = content.map(bare)
}

/** Puts system messages first and makes user and assistant alternate. Returns the same list if nothing changes. */
function alternate(messages: readonly Json[], losses: Loss[]): Json[] {
  const systems: Json[] = []
  const out: Json[] = []
  let changed = false
  // The last message and content that were created here. The client's own objects must not change.
  let joined: JsonObject | undefined
  let grown: Json[] | undefined
  for (const [index, message] of messages.entries()) {
    const last = out.at(-1)
    if (isObject(message) && message.role === 'system') {
      if (out.length > 0) {
        changed = true
        const detail = 'system messages must come first: the message is sent at the start of the conversation'
        losses.push(loss(`/messages/${index}`, detail, 'moved', 'warn'))
      }
      systems.push(message)
    } else if (isObject(message) && isObject(last) && canJoin(last, message)) {
      changed = true
      const content = join(last.content ?? '', message.content ?? '', grown)
      if (Array.isArray(content)) grown = content
      if (last === joined) last.content = content
      else {
        joined = { ...last, content }
        out[out.length - 1] = joined
      }
      const detail = `two consecutive ${toText(message.role)} messages are sent as one`
      losses.push(loss(`/messages/${index}`, detail, 'approximated', 'note'))
      for (const field of Object.keys(message))
        if (field !== 'role' && field !== 'content' && message[field] !== null && message[field] !== last[field])
          losses.push(
            loss(
              pointer(`/messages/${index}`, field),
              `${field} is not sent, because the message is merged with the previous one`,
            ),
          )
    } else out.push(message)
  }
  return changed ? [...systems, ...out] : (messages as Json[])
}

const canJoin = (first: JsonObject, second: JsonObject): boolean =>
  first.role === second.role &&
  (first.role === 'user' || first.role === 'assistant') &&
  [first, second].every(({ tool_calls: calls }) => !Array.isArray(calls) || calls.length === 0)

function join(first: Json, second: Json, grown: Json[] | undefined): Json {
  if (typeof first === 'string' && typeof second === 'string')
    return first === '' || second === '' ? first + second : `${first}\n\n${second}`
  const parts = (content: Json): Json[] =>
    Array.isArray(content)
      ? content
      : typeof content === 'string' && content !== ''
        ? [{ type: 'text', text: content }]
        : []
  const list = grown !== undefined && first === grown ? grown : [...parts(first)]
  append(list, parts(second))
  return list
}

/** Maps call ids to nine letters and digits. */
export interface ShortIds {
  of(id: string): string
}

const short = /^[a-zA-Z0-9]{9}$/
const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const length = 9

/**
 * Creates the mapping for a conversation. Valid ids stay unchanged. Others become a hash of themselves, which is the same in every turn, so
 * that prompt caches hit. Hashes never equal another id of the conversation.
 */
function createShortIds(messages: readonly Json[]): ShortIds {
  const used = new Set<string>()
  for (const message of messages)
    if (isObject(message))
      for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : [])
        if (isObject(call) && typeof call.id === 'string' && short.test(call.id)) used.add(call.id)
  const made = new Map<string, string>()
  return {
    of(id) {
      if (short.test(id)) return id
      let own = made.get(id)
      for (let salt = 0; own === undefined || (!made.has(id) && used.has(own)); salt++) own = hashed(id, salt)
      made.set(id, own)
      used.add(own)
      return own
    },
  }
}

/** FNV-1a in two halves, which distinguishes the calls of a conversation. */
function hashed(text: string, salt: number): string {
  let low = 0x811c9dc5 ^ salt
  let high = 0x1000193 ^ salt
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code ^ (low >>> 15), 0x85ebca6b)
  }
  let number = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
  let out = ''
  for (let i = 0; i < length; i++) {
    out += digits[Number(number % 62n)]
    number /= 62n
  }
  return out
}
