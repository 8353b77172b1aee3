import { inBatches } from '../../../base/async.ts'
import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../../base/json/json.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import { exactValue } from '../../../lanes/translation.ts'
import type { CallerRecords } from '../records.ts'
import { rewriteRequest } from '../rewrite-request.ts'
import { isSummarySeal, openSummary } from './seal.ts'

const trigger = 'compaction_trigger'

const isOfType = (item: Json, type: string): item is JsonObject => isObject(item) && item.type === type

const isCompaction = (item: Json): item is JsonObject => isOfType(item, 'compaction')

/** Returns whether a request asks to compact its conversation: its last item is the trigger. */
export function asksForCompaction({ input }: JsonObject): boolean {
  const last = Array.isArray(input) ? input.at(-1) : undefined
  return last !== undefined && isOfType(last, trigger)
}

/** Returns the items without the requests to compact them. */
export const withoutTriggers = (items: readonly Json[]): Json[] => items.filter((item) => !isOfType(item, trigger))

/**
 * Returns the items that a conversation continues with: without the parts that a later compaction item replaces. Instructions and the
 * user's messages stay, as providers keep them.
 */
export function compactedWindow(items: readonly Json[]): Json[] {
  const last = items.findLastIndex(isCompaction)
  if (last < 0) return [...items]
  return items.filter((item, index) => index >= last || isInstruction(item))
}

const isInstruction = (item: Json): boolean =>
  isObject(item) && (item.type ?? 'message') === 'message' && item.role !== undefined && item.role !== 'assistant'

/** Returns the messages of the user. */
export const userMessages = (items: readonly Json[]): Json[] =>
  items.filter((item) => isInstruction(item) && isObject(item) && item.role === 'user')

/**
 * Replaces the compaction items that the gateway wrote by messages with their summaries, which models of every upstream can read.
 *
 * @throws GatewayError `invalid_request` for an item that is not readable for this owner
 */
export async function openCompactions(
  request: RequestBody,
  { owner, sealSecret }: Pick<CallerRecords, 'owner' | 'sealSecret'>,
): Promise<RequestBody> {
  const { value } = request
  if (!Array.isArray(value.input) || !value.input.some(isOwnCompaction)) return request
  const input = exactValue(request).input as Json[]
  const opened = new Map<number, Json>()
  await inBatches([...input.entries()], async ([index, item]) => {
    if (!isOwnCompaction(item)) return
    const summary = await openSummary(item.encrypted_content, owner, sealSecret)
    if (summary === undefined) throw unreadable(index)
    opened.set(index, messageOf(`${introduction}${summary}`))
  })
  return rewriteRequest(request, { input: input.map((item, index) => opened.get(index) ?? item) })
}

const isOwnCompaction = (item: Json): item is JsonObject & { encrypted_content: string } =>
  isCompaction(item) && typeof item.encrypted_content === 'string' && isSummarySeal(item.encrypted_content)

const unreadable = (index: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `input[${index}].encrypted_content: this compaction item is not readable. It was changed, belongs to another caller, or was created with another secret (\`compaction.secret\`). Send the conversation without it.`,
    { param: `input[${index}].encrypted_content`, code: 'invalid_encrypted_content' },
  )

/** A message of the user: a summary quotes tools and pages, so it must not have the authority of instructions. */
export const messageOf = (text: string): JsonObject => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
})

const introduction =
  'The conversation before this message was compacted. This is the summary that replaces it; continue from it.\n\n'

/** The default of `compaction.prompt`. */
const defaultPrompt = `The conversation is about to continue in a new context that holds only your summary and the messages of the user. Write that summary for the model that continues the work. Include:

- the user's goals, requirements and constraints
- decisions and their reasons
- what has been done, with names of files, commands, data and results that are still needed
- open problems, and what is to be done next

Write only the summary. Do not call tools.`

/** Members that do not apply to the request for a summary. */
const droppedMembers = ['background', 'context_management', 'stream', 'stream_options']

/**
 * Returns the request that makes a model write the summary of a conversation: the same conversation and tools, so that the provider's
 * prompt cache is used, without a structured output. The response is not streamed: a summary is useful only as a whole.
 */
export function summaryRequest(request: RequestBody, prompt: string | undefined): RequestBody {
  const { input, tools, text } = exactValue(request)
  const items = typeof input === 'string' ? [messageOf(input)] : withoutTriggers(Array.isArray(input) ? input : [])
  const set: JsonObject = {
    input: [...items, messageOf(prompt ?? defaultPrompt)],
    // An upstream that stores responses would store the summary as a message.
    store: false,
  }
  if (Array.isArray(tools) && tools.length > 0) set.tool_choice = 'none'
  if (isObject(text) && text.format !== undefined) {
    const { format: _, ...rest } = text
    set.text = rest
  }
  return rewriteRequest(request, set, droppedMembers)
}
