import { listOf, numberOf, objectOf, textOf } from '../json.ts'
import type { ResponseContent } from './content.ts'

/** Reads a whole response of Ollama, or the objects of a stream. A response is complete with `done`. */
export function readOllama(chunks: readonly unknown[]): ResponseContent | undefined {
  const objects = chunks.map(objectOf)
  const last = objects.at(-1)
  if (last?.done !== true) return undefined
  const messages = objects.map(({ message }) => objectOf(message))
  const texts = (key: string): string => messages.map((message) => textOf(message[key])).join('')
  const input = numberOf(last.prompt_eval_count)
  const output = numberOf(last.eval_count)
  return {
    text: texts('content'),
    // There is no field for a refusal.
    refusal: '',
    reasoning: texts('thinking'),
    tools: messages.flatMap(({ tool_calls }) =>
      listOf(tool_calls)
        .map((call) => objectOf(objectOf(call).function))
        .map((call) => ({ name: textOf(call.name), input: call.arguments ?? {} })),
    ),
    ...(input === undefined || output === undefined ? {} : { usage: { input, output } }),
  }
}
