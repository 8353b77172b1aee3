import { listOf, objectOf } from '../../base/json.ts'
import { at, type Defect, visit, without } from './defect.ts'

/** Defects of operations other than text generation. */
export const operationDefects: readonly Defect[] = [
  {
    name: 'all embeddings are equal',
    changeResponse: at(/embeddings$/, (body) => ({
      ...body,
      data: listOf(body.data).map((one, index) => ({ ...objectOf(one), index, embedding: [1, 0, 0] })),
    })),
    failed: ['embeddings/several', 'embeddings/base64', 'embeddings/SDK-default', 'embeddings/dimensions'],
  },
  {
    name: 'embeddings have no vectors',
    changeResponse: at(/embeddings$/, (body) => ({ ...body, data: [] })),
    failed: [
      'embeddings/numbers',
      'embeddings/several',
      'embeddings/base64',
      'embeddings/SDK-default',
      'embeddings/dimensions',
    ],
  },
  {
    name: 'rerank results are in reverse order',
    changeResponse: at(/rerank$/, (body) => ({ ...body, results: listOf(body.results).reverse() })),
    failed: ['rerank/order'],
  },
  {
    name: 'images are invalid',
    changeResponse: at(/images/, (body) => ({ ...body, data: [{ b64_json: 'bm90aGluZw==' }] })),
    failed: ['images/generate', 'images/edit'],
  },
  {
    name: 'transcripts are empty',
    changeResponse: at(/transcriptions$/, () => ({ text: null })),
    failed: ['transcriptions/json', 'transcriptions/stream'],
  },
  {
    name: 'transcripts are always JSON',
    changeRequest: (body) => body,
    replaceResponse: (answer, path) =>
      path.endsWith('/transcriptions') && !/json/.test(answer.headers.get('content-type') ?? '')
        ? Response.json({ text: 'x' })
        : answer,
    failed: ['transcriptions/plain-text', 'transcriptions/stream'],
  },
  {
    name: 'speech has the wrong content type',
    replaceResponse: (answer, path) =>
      path.endsWith('/speech')
        ? new Response('ID3'.repeat(100), { headers: { 'content-type': 'text/plain' } })
        : answer,
    failed: ['speech/sound', 'speech/format'],
  },
  {
    name: 'completions are empty',
    changeResponse: (value, { path }) =>
      /[^t]\/completions$/.test(path)
        ? visit(value, (object) => {
            if ('text' in object) object.text = null
            if ('finish_reason' in object) object.finish_reason = null
          })
        : value,
    failed: ['completions/text', 'completions/stream'],
  },
  {
    name: 'model lists are empty',
    changeResponse: at(/\/models$/, (body) => ({
      ...body,
      ...(Array.isArray(body.models) ? { models: [] } : { data: [], has_more: false }),
    })),
    failed: [
      'models/list-for-OpenAI',
      'models/one-for-OpenAI',
      'models/list-for-Anthropic',
      'models/list-for-Google',
      'models/pages-for-Anthropic',
    ],
  },
  {
    name: 'model lists have another shape',
    changeResponse: at(/\/models$/, (body) => objectOf(without('object', 'display_name', 'type')(body))),
    failed: ['models/list-for-OpenAI', 'models/list-for-Anthropic'],
  },
  {
    name: 'model names lack their prefix',
    changeResponse: at(/\/models$/, (body) => ({
      ...body,
      ...(Array.isArray(body.models)
        ? { models: listOf(body.models).map((one) => ({ ...objectOf(one), name: 'demo' })) }
        : {}),
    })),
    failed: ['models/list-for-Google'],
  },
  {
    name: 'model lists have a first page only',
    changeResponse: at(/\/models$/, (body) => ({ ...body, ...('has_more' in body ? { has_more: false } : {}) })),
    failed: ['models/pages-for-Anthropic'],
  },
  {
    name: 'model lists ignore the page size',
    url: ({ pathname, searchParams }) => {
      if (pathname.endsWith('/models')) searchParams.delete('limit')
    },
    failed: ['models/pages-for-Anthropic'],
  },
  {
    name: 'token counts are constant',
    changeResponse: (value) =>
      visit(value, (object) => {
        for (const key of ['totalTokens', 'input_tokens']) if (key in object) object[key] = 7
      }),
    failed: ['tokens/for-messages', 'tokens/for-generateContent', 'tokens/for-responses'],
  },
]
