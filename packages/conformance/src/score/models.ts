import type { OpenAI } from 'openai'

/** Name patterns of models for other operations, the most likely first. */
const namesOf: Readonly<Partial<Record<ModelKind, readonly RegExp[]>>> = {
  embedding: [/text-embedding-3-small/i, /embed/i],
  image: [/gpt-image-1-mini/i, /gpt-image/i, /image|dall-e|imagen|flux/i],
  transcription: [/gpt-4o-mini-transcribe/i, /transcri/i, /whisper/i],
  speech: [/gpt-4o-mini-tts/i, /\btts/i, /speech/i],
  rerank: [/rerank/i],
  realtime: [/gpt-realtime-mini/i, /realtime(?!.*(transcri|whisper|translat))/i],
}

/** Finds models for operations other than text generation in a list. */
export function findModels(list: readonly string[]): Partial<Record<ModelKind, string>> {
  const found = Object.entries(namesOf).flatMap(([kind, patterns]) => {
    const name = patterns.map((pattern) => list.find((id) => pattern.test(id))).find((id) => id !== undefined)
    return name === undefined ? [] : [[kind, name]]
  })
  return Object.fromEntries(found)
}

/** Returns the server's model list, fetched with the OpenAI SDK. */
export async function listModels(client: OpenAI): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of client.models.list()) if (typeof id === 'string' && ids.push(id) >= 5000) break
  return ids
}

/** Kinds of models that checks need. */
export const modelKinds = [
  'text',
  'completion',
  'embedding',
  'image',
  'transcription',
  'speech',
  'rerank',
  'realtime',
] as const
/** A kind of model that a check needs. */
export type ModelKind = (typeof modelKinds)[number]
