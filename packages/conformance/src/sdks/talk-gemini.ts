import type { FunctionCall, GenerateContentResponse, Part } from '@google/genai'
import { citySchema } from '../base/city-schema.ts'
import { readGemini } from '../base/read-gemini.ts'
import type { Piece, Said, Talker } from './conversation.ts'

function partOf(piece: Piece): Part {
  if ('text' in piece) return { text: piece.text }
  if ('image' in piece) return { inlineData: { mimeType: 'image/png', data: piece.image } }
  if ('imageAt' in piece) return { fileData: { mimeType: 'image/png', fileUri: piece.imageAt } }
  if ('audio' in piece) return { inlineData: { mimeType: 'audio/wav', data: piece.audio } }
  return { inlineData: { mimeType: 'application/pdf', data: piece.pdf } }
}

const hasText = ({ candidates }: GenerateContentResponse): boolean =>
  (candidates?.[0]?.content?.parts ?? []).some(({ text = '', thought }) => text !== '' && thought !== true)

/** By the SDK's own chat, which sends back every chunk of a stream as a content of its own. */
export const talkAsGemini: Talker = ({ google }, { model = 'demo', stream, tools, think, most, system, extra }) => {
  const chat = google.chats.create({
    model,
    config: {
      ...(system === undefined ? {} : { systemInstruction: system }),
      ...(tools === undefined
        ? {}
        : { tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: citySchema })) }] }),
      ...(think ? { thinkingConfig: { includeThoughts: true, thinkingBudget: 4096 } } : {}),
      ...(most === undefined ? {} : { maxOutputTokens: most }),
      ...extra,
    },
  })
  let calls: readonly FunctionCall[] = []
  const go = async (message: Part[]): Promise<Said> => {
    const chunks: GenerateContentResponse[] = []
    if (stream) for await (const chunk of await chat.sendMessageStream({ message })) chunks.push(chunk)
    else chunks.push(await chat.sendMessage({ message }))
    calls = chunks.flatMap((chunk) => chunk.functionCalls ?? [])
    const answer = readGemini(chunks, !stream)
    if (answer === undefined) throw new Error(`no answer in ${JSON.stringify(chunks)}`)
    const last = chunks.at(-1)
    return {
      ...answer,
      end: last?.candidates?.[0]?.finishReason ?? last?.promptFeedback?.blockReason ?? '',
      model: last?.modelVersion ?? '',
      pieces: chunks.filter(hasText).length,
    }
  }
  return {
    ask: (...pieces) => go(pieces.map(partOf)),
    answer: (results) =>
      go(
        calls.map(({ id, name = '' }): Part => {
          const pieces = results[name] ?? []
          const said = pieces.flatMap((piece) => ('text' in piece ? [piece.text] : []))
          const shown = pieces.filter((piece) => !('text' in piece)).map(partOf)
          return {
            functionResponse: {
              name,
              ...(id === undefined ? {} : { id }),
              response: said.length > 0 ? { output: said.join('\n') } : {},
              ...(shown.length > 0 ? { parts: shown as NonNullable<Part['functionResponse']>['parts'] & object } : {}),
            },
          }
        }),
      ),
  }
}
