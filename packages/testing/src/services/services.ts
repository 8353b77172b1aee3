import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { geminiEmbeddings } from './gemini-embeddings.ts'
import { imageEdits, images, imageVariations } from './images.ts'
import { moderations } from './moderations.ts'
import { cohereRerank, rerank } from './rerank.ts'
import type { Service } from './service.ts'
import { speech } from './speech.ts'
import { transcriptions, translations } from './transcriptions.ts'

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
