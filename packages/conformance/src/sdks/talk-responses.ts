import type OpenAI from 'openai'
import { citySchema } from '../base/city-schema.ts'
import { objectOf, textOf } from '../base/json.ts'
import { readResponsesBody } from '../base/read-responses.ts'
import type { Piece, Said, Talker } from './conversation.ts'

type Shown =
  | OpenAI.Responses.ResponseInputText
  | OpenAI.Responses.ResponseInputImage
  | OpenAI.Responses.ResponseInputFile

function partOf(piece: Piece): Shown {
  if ('text' in piece) return { type: 'input_text', text: piece.text }
  if ('image' in piece)
    return { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${piece.image}` }
  if ('imageAt' in piece) return { type: 'input_image', detail: 'auto', image_url: piece.imageAt }
  if ('pdf' in piece)
    return { type: 'input_file', filename: 'paper.pdf', file_data: `data:application/pdf;base64,${piece.pdf}` }
  // In the API, but not in this version's union.
  return { type: 'input_audio', input_audio: { data: piece.audio, format: 'wav' } } as unknown as Shown
}

/** Without a store, as agents do it: every item goes back, encrypted reasoning among them. */
export const talkAsResponses: Talker = ({ openai }, { model = 'demo', stream, tools, think, most, system, extra }) => {
  const input: OpenAI.Responses.ResponseInputItem[] = []
  const settings = {
    model,
    store: false,
    ...(system === undefined ? {} : { instructions: system }),
    ...(tools === undefined
      ? {}
      : {
          tools: tools.map((name) => ({ type: 'function' as const, name, parameters: citySchema, strict: true })),
        }),
    ...(think
      ? {
          reasoning: { effort: 'high' as const, summary: 'auto' as const },
          include: ['reasoning.encrypted_content' as const],
        }
      : {}),
    ...(most === undefined ? {} : { max_output_tokens: most }),
    ...extra,
  }
  let calls: readonly OpenAI.Responses.ResponseFunctionToolCall[] = []
  const go = async (): Promise<Said> => {
    let pieces = 0
    const streamed = (): Promise<OpenAI.Responses.Response> =>
      openai.responses
        .stream({ ...settings, input })
        .on('response.output_text.delta', () => void pieces++)
        .finalResponse()
    const response = stream ? await streamed() : await openai.responses.create({ ...settings, input })
    for (const item of response.output) input.push(sendable(item))
    calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    const answer = readResponsesBody(response)
    if (answer === undefined) throw new Error(`no answer in ${JSON.stringify(response)}`)
    const end = response.incomplete_details?.reason ?? response.status ?? ''
    return { ...answer, end, model: textOf(response.model), pieces: stream ? pieces : 1 }
  }
  return {
    ask(...pieces) {
      input.push({ role: 'user', content: pieces.map(partOf) })
      return go()
    },
    answer(results) {
      for (const call of calls)
        input.push({
          type: 'function_call_output',
          call_id: call.call_id,
          output: (results[call.name] ?? []).map(partOf),
        })
      return go()
    },
  }
}

/** `parsed…` is the helper's own and no field of the API. */
function sendable(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  const { parsed_arguments: _, ...rest } = objectOf(item)
  const content = Array.isArray(rest.content)
    ? rest.content.map((part) => {
        const { parsed: _parsed, ...own } = objectOf(part)
        return own
      })
    : undefined
  return { ...rest, ...(content === undefined ? {} : { content }) } as unknown as OpenAI.Responses.ResponseInputItem
}
