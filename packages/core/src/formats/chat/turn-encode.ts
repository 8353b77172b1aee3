import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type {
  MediaPart,
  Nothing,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../ir.ts'
import { append } from '../shared/json-fields.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { encodeMedia, partName } from './media.ts'
import { encodeCallSeal, encodeDetail, joinReasoning, needsDetails } from './reasoning.ts'
import { encodeCache, isLegacyCall } from './tools.ts'

export type EncodeContext = CodecContext & { readonly target: TargetTraits }

export function encodeTurns(turns: readonly Turn[], context: EncodeContext): JsonObject[] {
  const messages: JsonObject[] = []
  for (const turn of gatherCalls(resultsFirst(turns, context))) {
    if (turn.role === 'assistant') messages.push(encodeAssistant(turn, context))
    else if (turn.role === 'user') encodeUser(turn, messages, context)
    else messages.push(encodeSystem(turn, context))
  }
  return messages
}

const isSystem = (turn: Turn | undefined): boolean => turn?.role === 'system' || turn?.role === 'developer'
const calls = (turn: Turn | undefined): boolean =>
  turn?.role === 'assistant' && turn.parts.some(({ type }) => type === 'tool-call')

/** Moves system messages between calls and results behind the results, which must follow the calls at once. */
function resultsFirst(turns: readonly Turn[], context: EncodeContext): readonly Turn[] {
  if (!turns.some((turn, i) => isSystem(turn) && calls(turns[i - 1]))) return turns
  const ordered: Turn[] = []
  let held: Turn[] = []
  for (const turn of turns) {
    if (isSystem(turn) && (held.length > 0 || calls(ordered.at(-1)))) {
      held.push(turn)
      continue
    }
    const results = turn.role === 'user' && turn.parts.some(({ type }) => type === 'tool-result')
    if (!results) append(ordered, held)
    ordered.push(turn)
    if (!results) held = []
    else
      for (const heldTurn of held.splice(0)) {
        context.report.add(
          loss(heldTurn.at ?? '', 'the message is moved behind the tool results that it preceded', 'moved', 'note'),
        )
        ordered.push(heldTurn)
      }
  }
  return [...ordered, ...held]
}

/** Merges consecutive assistant turns with calls, because results must follow the calls at once. */
function gatherCalls(turns: readonly Turn[]): Turn[] {
  const gathered: Turn[] = []
  // The last merged list, if it was created here. The request's own lists must not change.
  let grown: Part[] | undefined
  for (const turn of turns) {
    const last = gathered.at(-1)
    // Merged parts contain a call. Searching them again each time would take quadratic time.
    const calling = last?.role === 'assistant' && (last.parts === grown || calls(last))
    // Other fields of the message would have no place in the merged one.
    if (calling && turn.role === 'assistant' && turn.extra === undefined && turn.name === undefined) {
      if (grown !== last.parts) grown = [...last.parts]
      append(grown, turn.parts)
      gathered[gathered.length - 1] = { ...turn, ...last, parts: grown }
    } else gathered.push(turn)
  }
  return gathered
}

/** Returns the fields that every message of a turn gets. */
function message(turn: Turn, role: string, context: EncodeContext): JsonObject {
  // Changes of settings were applied to the whole request before.
  const { role: _, parts: _parts, name, cache: _cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  const out: JsonObject = { ...ownExtra(extra, 'chat', at, context.report), role }
  put(out, 'name', name)
  encodeCache(out, turn, context.target.quirks, context.report)
  return out
}

function encodeSystem(turn: Turn, context: EncodeContext): JsonObject {
  const { developerRole = 'developer' } = context.target.quirks
  const role = turn.role === 'developer' && developerRole !== 'developer' ? 'system' : turn.role
  const out = message(turn, role, context)
  const content: JsonObject[] = []
  for (const part of turn.parts) {
    if (part.type === 'text') content.push(encodeText(part, context))
    else if (part.type === 'native' && part.format === 'chat') content.push(part.value)
    else leaveOut(part, `a ${turn.role} message accepts only text`, context)
  }
  out.content = collapse(content)
  return out
}

/** Encodes a user turn. Tool results are messages of their own and come first, because they must follow the assistant's calls at once. */
function encodeUser(turn: Turn, messages: JsonObject[], context: EncodeContext): void {
  const content: JsonObject[] = []
  const moved: JsonObject[] = []
  let results = 0
  let passed = false
  for (const part of turn.parts) {
    if (part.type === 'tool-result') {
      passed ||= content.length > 0
      messages.push(encodeResult(part, moved, context))
      results++
    } else {
      const encoded = encodeUserPart(part, context)
      if (encoded !== undefined) content.push(encoded)
    }
  }
  if (passed)
    context.report.add(
      loss(turn.at ?? '', 'the tool results are sent before the text of their message', 'moved', 'note'),
    )
  if (results > 0 && content.length === 0 && moved.length === 0) {
    reportResultTurn(turn, context)
    return
  }
  const out = message(turn, 'user', context)
  out.content = collapse([...moved, ...content])
  messages.push(out)
}

/** A turn with only tool results creates no message for its name or cache hint. */
function reportResultTurn(turn: Turn, context: EncodeContext): void {
  const at = turn.at ?? ''
  const own = ownExtra(turn.extra, 'chat', at, context.report)
  for (const key of Object.keys(own ?? {}))
    context.report.add(loss(pointer(at, key), 'a message of tool results has no such field'))
  if (turn.name !== undefined)
    context.report.add(loss(pointer(at, 'name'), 'a message of tool results has no name', 'unsupported', 'note'))
  encodeCache({}, turn, {}, context.report)
}

function encodeUserPart(part: Exclude<Part, ToolResultPart>, context: EncodeContext): JsonObject | undefined {
  if (part.type === 'text') return encodeText(part, context)
  if (part.type === 'media') return withCache(encodeMedia(part, context), part, context)
  if (part.type === 'native' && part.format === 'chat') return part.value
  return leaveOut(part, 'not allowed in a user message', context)
}

function encodeResult(part: ToolResultPart, moved: JsonObject[], context: EncodeContext): JsonObject {
  const { type: _, callId, name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const content: JsonObject[] = []
  for (const inner of parts) {
    if (inner.type === 'text') content.push(encodeText(inner, context))
    else if (inner.type === 'media') {
      const encoded = withCache(encodeMedia(inner, context), inner, context)
      if (encoded === undefined) continue
      if (encoded.type === 'text') {
        content.push(encoded)
        continue
      }
      moved.push(encoded)
      report.add(
        loss(
          inner.at ?? at,
          `tool messages accept only text: the ${inner.kind} follows in a user message`,
          'moved',
          'note',
        ),
      )
    } else if (inner.type === 'native' && inner.format === 'chat') content.push(inner.value)
    else leaveOut(inner, 'a tool message accepts only text', context)
  }
  if (isError) {
    const detail = 'chat completions cannot mark a tool result as an error; the text is sent without the mark'
    report.add(loss(pointer(at, 'is_error'), detail, 'approximated', 'note'))
  }
  const own = ownExtra(extra, 'chat', at, report)
  const legacy = isLegacyCall(callId)
  const out: JsonObject = { ...own, role: legacy ? 'function' : 'tool' }
  if (!legacy) out.tool_call_id = callId
  put(out, 'name', name)
  out.content = collapse(content)
  encodeCache(out, part, context.target.quirks, report)
  return out
}

function encodeAssistant(turn: Turn, context: EncodeContext): JsonObject {
  const out = message(turn, 'assistant', context)
  const content: JsonObject[] = []
  const calls: JsonObject[] = []
  const refusals: RefusalPart[] = []
  const reasoning: ReasoningPart[] = []
  for (const part of turn.parts) {
    switch (part.type) {
      case 'text':
        if (calls.length > 0)
          context.report.add(loss(part.at ?? '', 'the text is sent before the tool calls', 'moved', 'note'))
        content.push(encodeText(part, context))
        break
      case 'reasoning':
        reasoning.push(part)
        break
      case 'refusal':
        refusals.push(part)
        break
      case 'tool-call':
        if (isLegacyCall(part.id)) out.function_call = encodeCall(part, context).function ?? null
        else calls.push(encodeCall(part, context))
        break
      case 'media':
        encodeHeard(part, out, context)
        break
      case 'native':
        if (part.format === 'chat') content.push(part.value)
        else leaveOut(part, 'a block of another format', context)
        break
      case 'tool-result':
        leaveOut(part, 'not allowed in an assistant message', context)
        break
      default:
        part satisfies never
    }
  }
  encodeReasoning(reasoning, out, context)
  if (refusals.length > 0) out.refusal = refusals.map((part) => encodeRefusal(part, context)).join('\n')
  if (calls.length > 0) out.tool_calls = calls
  const silent = calls.length > 0 || refusals.length > 0 || 'function_call' in out || 'audio' in out
  out.content = content.length === 0 && silent ? null : collapse(content)
  return out
}

function encodeCall(part: ToolCallPart, context: EncodeContext): JsonObject {
  const { type: _, id, name, input, custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const own = ownExtra(extra, 'chat', at, context.report)
  const out: JsonObject = { ...own, id }
  if (custom) {
    out.type = 'custom'
    out.custom = { ...(isObject(own?.custom) ? own.custom : undefined), name, input }
  } else {
    out.type = 'function'
    out.function = { ...(isObject(own?.function) ? own.function : undefined), name, arguments: input || '{}' }
  }
  if (seal?.issuer === 'chat') out.extra_content = encodeCallSeal(seal)
  else if (seal !== undefined) withheld(at, 'the signature of a tool call', context)
  encodeCache(out, part, context.target.quirks, context.report)
  return out
}

/** Writes earlier reasoning. Only the issuer can read a seal; text goes to the field that the upstream declares. */
function encodeReasoning(parts: readonly ReasoningPart[], out: JsonObject, context: EncodeContext): void {
  if (parts.length === 0) return
  const field = context.target.quirks.reasoningField
  const own = parts.filter((part) => part.seal === undefined || part.seal.issuer === 'chat')
  const detailed = own.some(needsDetails)
  for (const part of parts) {
    const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
    rest satisfies Nothing
    const foreign = seal !== undefined && seal.issuer !== 'chat'
    if (foreign) withheld(at, redacted ? 'redacted reasoning' : 'the signature of reasoning', context)
    if (foreign || !detailed) {
      ownExtra(extra, 'chat', at, context.report)
      if (text !== '' && field === undefined)
        context.report.add(
          loss(at, 'earlier reasoning is not sent: the upstream declares no field for it', 'unsupported', 'note'),
        )
    }
    encodeCache({}, part, {}, context.report)
  }
  if (detailed) out.reasoning_details = own.map((part, index) => encodeDetail(part, index, context.report))
  const text = joinReasoning(parts)
  if (field !== undefined && text !== '') out[field] = text
}

function withheld(at: string, what: string, context: EncodeContext): void {
  context.report.add(loss(at, `${what} can be read only by its issuer and was withheld`, 'unsupported', 'note'))
}

/** Encodes earlier audio of the model by its id. */
function encodeHeard(part: MediaPart, out: JsonObject, context: EncodeContext): void {
  if (part.kind === 'audio' && part.source.type === 'file' && part.source.seal.issuer === 'chat') {
    const own = ownExtra(part.extra, 'chat', part.at ?? '', context.report)
    out.audio = { ...own, id: part.source.seal.data }
  } else leaveOut(part, 'an assistant message accepts only text', context)
}

function encodeRefusal(part: RefusalPart, context: EncodeContext): string {
  const { type: _, text, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const own = ownExtra(extra, 'chat', at, context.report)
  for (const key of Object.keys(own ?? {}))
    context.report.add(loss(pointer(at, key), 'a refusal has only text', 'unsupported', 'note'))
  encodeCache({}, part, {}, context.report)
  return text
}

function encodeText(part: TextPart, context: EncodeContext): JsonObject {
  const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  if (citations !== undefined && citations.length > 0) {
    const detail = 'citations of an earlier response cannot be sent in a request'
    context.report.add(loss(pointer(at, 'citations'), detail, 'unsupported', 'note'))
  }
  const out: JsonObject = { ...ownExtra(extra, 'chat', at, context.report), type: 'text', text }
  encodeCache(out, part, context.target.quirks, context.report, true)
  return out
}

function withCache(out: JsonObject | undefined, part: MediaPart, context: EncodeContext): JsonObject | undefined {
  if (out !== undefined) encodeCache(out, part, context.target.quirks, context.report, true)
  return out
}

function leaveOut(part: Part, why: string, context: EncodeContext): undefined {
  const severity = part.type === 'native' && part.incidental === true ? 'note' : 'warn'
  context.report.add(loss(part.at ?? '', `${partName(part)} left out: ${why}`, 'unsupported', severity))
  return undefined
}

/** Writes a single text as a string, because older servers accept no list. */
function collapse(content: JsonObject[]): string | JsonObject[] {
  const [first, second] = content
  if (first === undefined) return ''
  if (
    second === undefined &&
    first.type === 'text' &&
    typeof first.text === 'string' &&
    Object.keys(first).length === 2
  )
    return first.text
  return content
}
