import type { JsonObject } from '../../formats/format.ts'
import { countOf, listOf } from '../../formats/read.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { numberOf } from '../../settings/draft.ts'
import { createApi } from '../apis.ts'
import { openAiSnippets } from '../code/openai.ts'
import type { OperationCalls, OperationDraft, ReadDraft } from '../operation.ts'

export interface EmbeddingsDraft extends OperationDraft {
  readonly texts: readonly string[]
  readonly dimensions: string
}

const firstDraft: EmbeddingsDraft = { model: '', extra: '', texts: ['', ''], dimensions: '' }

const embeddingsApi = createApi({
  id: 'embeddings',
  name: 'Embeddings',
  isAnswer: ({ data }) => Array.isArray(data),
})

function read({ texts, dimensions }: EmbeddingsDraft): ReadDraft {
  const size = numberOf(dimensions)
  const isWrong = size === 'wrong' || (size !== undefined && !(Number.isInteger(size) && size > 0))
  return {
    path: '/v1/embeddings',
    body: {
      input: [...texts],
      // SDKs and servers have different defaults.
      encoding_format: 'float',
      ...(size === undefined || isWrong ? {} : { dimensions: size }),
    },
    wrongs: isWrong ? { dimensions: 'Enter a whole number greater than 0.' } : {},
    missing: texts.some((text) => text.trim() === '') ? 'Enter each text, or remove empty ones.' : undefined,
  }
}

/** Returns the vectors in the order of the texts. */
export function vectorsOf(body: JsonObject): readonly ArrayLike<number>[] {
  return listOf(body.data)
    .map((item, at) => ({ index: countOf(item.index) ?? at, vector: vectorOf(item.embedding) }))
    .sort((a, b) => a.index - b.index)
    .map(({ vector }) => vector)
}

/** Base64 holds little-endian 32-bit floats. */
function vectorOf(embedding: JsonObject[string] | undefined): ArrayLike<number> {
  if (Array.isArray(embedding)) return embedding.map(Number)
  if (typeof embedding !== 'string') return []
  const bytes = Uint8Array.from(atob(embedding), (character) => character.charCodeAt(0))
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4))
}

const snippets = (call: AsCode): readonly Snippet[] =>
  openAiSnippets(call, {
    method: 'embeddings.create',
    known: ['model', 'input', 'dimensions', 'encoding_format', 'user'],
  })

export const embeddingsCalls: OperationCalls<EmbeddingsDraft> = {
  firstDraft,
  apis: [embeddingsApi],
  api: () => embeddingsApi,
  read,
  snippets,
}
