import { type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts'
import { parsedInput, type ResponseContent, type UsageTotals } from './content.ts'

/** Usage counts cached input separately. */
function converseUsage(value: JsonObject): UsageTotals | undefined {
  const fresh = numberOf(value.inputTokens)
  const output = numberOf(value.outputTokens)
  if (fresh === undefined || output === undefined) return undefined
  const cacheRead = numberOf(value.cacheReadInputTokens)
  return {
    input: fresh + (cacheRead ?? 0) + (numberOf(value.cacheWriteInputTokens) ?? 0),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
  }
}

const contentOf = (blocks: readonly JsonObject[], usage: JsonObject): ResponseContent => {
  const total = converseUsage(usage)
  return {
    text: blocks.map(({ text }) => textOf(text)).join(''),
    // There is no field for a refusal.
    refusal: '',
    reasoning: blocks
      .map(({ reasoningContent }) => textOf(objectOf(objectOf(reasoningContent).reasoningText).text))
      .join(''),
    tools: blocks.flatMap(({ toolUse }) =>
      toolUse === undefined ? [] : [{ name: textOf(objectOf(toolUse).name), input: objectOf(toolUse).input ?? {} }],
    ),
    ...(total === undefined ? {} : { usage: total }),
  }
}

/** Reads a whole response of Converse. */
export function readConverse(body: JsonObject): ResponseContent | undefined {
  const { message } = objectOf(body.output)
  if (message === undefined || textOf(body.stopReason) === '') return undefined
  return contentOf(listOf(objectOf(message).content).map(objectOf), objectOf(body.usage))
}

/** Joins the deltas of a stream to a message. Events are objects with one member, which has the event's name. */
export function joinConverse(events: readonly JsonObject[]): JsonObject | undefined {
  const blocks: { [name: string]: string | undefined }[] = []
  let stopReason: string | undefined
  let usage: JsonObject = {}
  const add = (at: number, field: string, value: unknown): void => {
    blocks[at] ??= {}
    const block = blocks[at]
    if (typeof value === 'string') block[field] = (block[field] ?? '') + value
  }
  for (const { contentBlockStart, contentBlockDelta, messageStop, metadata } of events) {
    const { start, contentBlockIndex: startedAt } = objectOf(contentBlockStart)
    const { toolUseId, name } = objectOf(objectOf(start).toolUse)
    if (startedAt !== undefined) {
      add(Number(startedAt), 'toolUseId', toolUseId)
      add(Number(startedAt), 'name', name)
    }
    const { delta, contentBlockIndex: at } = objectOf(contentBlockDelta)
    const { text, toolUse, reasoningContent } = objectOf(delta)
    if (at !== undefined) {
      add(Number(at), 'text', text)
      add(Number(at), 'input', objectOf(toolUse).input)
      const thought = objectOf(reasoningContent)
      add(Number(at), 'thought', thought.text)
      add(Number(at), 'signature', thought.signature)
      // AWS's SDK decodes it to bytes.
      add(Number(at), 'redacted', base64Of(thought.redactedContent))
    }
    if (messageStop !== undefined) stopReason = textOf(objectOf(messageStop).stopReason)
    if (metadata !== undefined) usage = objectOf(objectOf(metadata).usage)
  }
  if (stopReason === undefined) return undefined
  return { output: { message: { role: 'assistant', content: blocks.flatMap(blockOf) } }, stopReason, usage }
}

const base64Of = (value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value

function blockOf({
  toolUseId,
  name,
  input,
  text,
  thought,
  signature,
  redacted,
}: {
  [name: string]: string | undefined
}): JsonObject[] {
  if (toolUseId !== undefined && name !== undefined)
    return [{ toolUse: { toolUseId, name, input: parsedInput(input) as JsonObject } }]
  if (redacted !== undefined) return [{ reasoningContent: { redactedContent: redacted } }]
  if (thought !== undefined || signature !== undefined)
    return [
      {
        reasoningContent: {
          reasoningText: { text: thought ?? '', ...(signature === undefined ? {} : { signature }) },
        },
      },
    ]
  return text === undefined ? [] : [{ text }]
}
