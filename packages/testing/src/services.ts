import { completions } from './serve-completions.ts'
import { embeddings } from './serve-embeddings.ts'
import { geminiEmbeddings } from './serve-gemini-embeddings.ts'
import { imageEdits, images, imageVariations } from './serve-images.ts'
import { moderations } from './serve-moderations.ts'
import { cohereRerank, rerank } from './serve-rerank.ts'
import { speech } from './serve-speech.ts'
import { transcriptions, translations } from './serve-transcriptions.ts'
import type { Service } from './service.ts'

/** Services by path below the version; `/v2/…` is for that version only. */
export const services: Readonly<Record<string, Service>> = {
  '/completions': completions,
  '/embeddings': embeddings,
  '/rerank': rerank,
  '/v2/rerank': cohereRerank,
  '/moderations': moderations,
  '/images/generations': images,
  '/images/edits': imageEdits,
  '/images/variations': imageVariations,
  '/audio/transcriptions': transcriptions,
  '/audio/translations': translations,
  '/audio/speech': speech,
}

/** Services by method, for paths that name a model. */
export const serviceMethods: Readonly<Record<string, Service>> = {
  embedContent: geminiEmbeddings,
  batchEmbedContents: geminiEmbeddings,
}
