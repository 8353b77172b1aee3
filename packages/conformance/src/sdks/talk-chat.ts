import type OpenAI from 'openai'
import { citySchema } from '../base/city-schema.ts'
import { objectOf, textOf } from '../base/json.ts'
import { chatCalls, chatReasoning, chatUsage } from '../base/read-answer.ts'
import type { Piece, Said, Talker } from './conversation.ts'

type Part = OpenAI.ChatCompletionContentPart

/** Pieces as chat has them. In a tool's message the types allow text alone; servers that take more are common. */
function partOf(piece: Piece): Part {
  if ('text' in piece) return { type: 'text', text: piece.text }
  if ('image' in piece) return { type: 'image_url', image_url: { url: `data:image/png;base64,${piece.image}` } }
  if ('imageAt' in piece) return { type: 'image_url', image_url: { url: piece.imageAt } }
  if ('audio' in piece) return { type: 'input_audio', input_audio: { data: piece.audio, format: 'wav' } }
  return { type: 'file', file: { filename: 'paper.pdf', file_data: `data:application/pdf;base64,${piece.pdf}` } }
}

interface Heard {
  readonly completion: OpenAI.ChatCompletion
  readonly reasoning: string
  readonly pieces: number
}

export const talkAsChat: Talker = ({ openai }, { model = 'demo', stream, tools, think, most, system, extra }) => {
  const messages: OpenAI.ChatCompletionMessageParam[] =
    system === undefined ? [] : [{ role: 'system', content: system }]
  const limit = most ?? (think ? 32_000 : undefined)
  const settings = {
    model,
    ...(tools === undefined
      ? {}
      : { tools: tools.map((name) => ({ type: 'function' as const, function: { name, parameters: citySchema } })) }),
    ...(think ? { reasoning_effort: 'high' as const } : {}),
    ...(limit === undefined ? {} : { max_completion_tokens: limit }),
    ...extra,
  }
  let calls: readonly OpenAI.ChatCompletionMessageToolCall[] = []
  const whole = async (): Promise<Heard> => {
    const completion = await openai.chat.completions.create({ ...settings, messages })
    return { completion, reasoning: chatReasoning(objectOf(completion.choices[0]?.message)), pieces: 1 }
  }
  const streamed = async (): Promise<Heard> => {
    const body = { ...settings, messages, stream: true as const, stream_options: { include_usage: true } }
    const stream = openai.chat.completions.stream(body)
    let reasoning = ''
    let pieces = 0
    // The accumulator keeps of an unknown text field only what came last.
    stream.on('chunk', ({ choices }) => {
      const { reasoning_details: _, ...delta } = objectOf(choices[0]?.delta)
      reasoning += chatReasoning(delta)
      if (textOf(delta.content) !== '') pieces++
    })
    return { completion: await stream.finalChatCompletion(), reasoning, pieces }
  }
  const go = async (): Promise<Said> => {
    const { completion, reasoning, pieces } = stream ? await streamed() : await whole()
    const [choice] = completion.choices
    if (choice === undefined) throw new Error('no choice')
    const { message } = choice
    messages.push(message)
    calls = message.tool_calls ?? []
    const usage = chatUsage(objectOf(completion.usage))
    return {
      text: textOf(message.content),
      refusal: textOf(message.refusal),
      reasoning,
      tools: chatCalls(objectOf(message)),
      end: choice.finish_reason,
      model: textOf(completion.model),
      pieces,
      ...(usage === undefined ? {} : { usage }),
    }
  }
  return {
    ask(...pieces) {
      messages.push({ role: 'user', content: pieces.map(partOf) })
      return go()
    },
    answer(results) {
      for (const call of calls) {
        const name = call.type === 'function' ? call.function.name : call.custom.name
        const content = (results[name] ?? []).map(partOf) as OpenAI.ChatCompletionContentPartText[]
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
      return go()
    },
  }
}
