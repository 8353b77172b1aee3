import { speech, transcriptions, translations } from './audio/index.ts'
import { completions } from './completions/index.ts'
import { embeddings } from './embeddings/index.ts'
import { imageEdits, images, imageVariations } from './images/index.ts'
import { moderations } from './moderations.ts'
import type { Operation, OperationName } from './operation.ts'
import { realtimeSessions } from './realtime-sessions.ts'
import { rerank } from './rerank/index.ts'

/** Every operation beside chat. Calls do not come here: they load the one they need (see load.ts). */
export const operations: { readonly [O in OperationName]?: Operation<unknown, unknown> } = {
  completions,
  embeddings,
  rerank,
  moderations,
  images,
  'image-edits': imageEdits,
  'image-variations': imageVariations,
  transcriptions,
  translations,
  speech,
  'realtime-sessions': realtimeSessions,
}
