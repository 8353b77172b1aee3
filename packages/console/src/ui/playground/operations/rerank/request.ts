import type { Api, Json, JsonObject } from '../../formats/format.ts'
import { countOf, listOf, objectOf, textOf } from '../../formats/read.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { numberOf } from '../../settings/draft.ts'
import { createApi } from '../apis.ts'
import { cohereSnippets } from '../code/cohere.ts'
import { postSnippets } from '../code/openai.ts'
import type { OperationCalls, OperationDraft, ReadDraft } from '../operation.ts'

export interface RerankDraft extends OperationDraft {
  readonly query: string
  readonly documents: readonly string[]
  /** True: each document has its own input, so that it may have several lines. */
  readonly separate: boolean
  readonly topN: string
  /** Id of the client format. */
  readonly format: string
}

const firstDraft: RerankDraft = {
  model: '',
  extra: '',
  query: '',
  documents: [],
  separate: false,
  topN: '',
  format: 'rerank',
}

const isAnswer = ({ results }: JsonObject): boolean => Array.isArray(results)

/** The client formats of rerank, the first one is the default. */
export const rerankApis: readonly [Api, Api] = [
  createApi({ id: 'rerank', name: 'Jina (/v1/rerank)', isAnswer }),
  createApi({ id: 'rerank-v2', name: 'Cohere v2 (/v2/rerank)', isAnswer }),
]

export const apiOf = ({ format }: RerankDraft): Api => rerankApis.find(({ id }) => id === format) ?? rerankApis[0]

const isV2 = (id: string): boolean => id === 'rerank-v2'

function read(draft: RerankDraft): ReadDraft {
  const { query, topN } = draft
  const documents = draft.documents.filter((text) => text.trim() !== '')
  const most = numberOf(topN)
  const isWrong = most === 'wrong' || (most !== undefined && !(Number.isInteger(most) && most > 0))
  return {
    path: isV2(apiOf(draft).id) ? '/v2/rerank' : '/v1/rerank',
    body: { query: query.trim(), documents, ...(most === undefined || isWrong ? {} : { top_n: most }) },
    wrongs: isWrong ? { topN: 'Enter a whole number greater than 0.' } : {},
    missing:
      query.trim() === '' ? 'Enter a query.' : documents.length === 0 ? 'Enter at least one document.' : undefined,
  }
}

export interface Ranked {
  /** Index of the document in the request. */
  readonly index: number
  readonly score: number
  readonly text: string
}

/** Returns the documents, the best first. */
export function rankedOf(body: JsonObject, documents: Json | undefined): readonly Ranked[] {
  const sent = Array.isArray(documents) ? documents : []
  return listOf(body.results)
    .map((result) => {
      const index = countOf(result.index) ?? -1
      return { index, score: countOf(result.relevance_score) ?? 0, text: documentText(sent[index] ?? result.document) }
    })
    .sort((a, b) => b.score - a.score)
}

const documentText = (document: Json | undefined): string =>
  typeof document === 'string' ? document : textOf(objectOf(document).text) || JSON.stringify(document ?? null)

const snippets = (call: AsCode): readonly Snippet[] =>
  isV2(call.format.id) ? cohereSnippets(call) : postSnippets(call, '/rerank')

export const rerankCalls: OperationCalls<RerankDraft> = { firstDraft, apis: rerankApis, api: apiOf, read, snippets }
