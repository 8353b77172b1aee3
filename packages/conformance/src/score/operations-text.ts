import { type JsonObject, listOf, numberOf, objectOf } from '../base/json.ts'
import type { Check } from './check.ts'
import type { Context } from './context.ts'
import { formatValue, must } from './expectations.ts'
import { expectRejection, unknownModel } from './features-errors.ts'
import { describeRejection, jsonOf, namesField } from './rejection.ts'

const completions: readonly Omit<Check, 'format' | 'needs'>[] = [
  {
    feature: 'text',
    proves: 'A prompt is completed with a finish reason and usage.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const model = context.modelFor('completion')
      const { choices, usage } = await context.openai.completions.create({
        model,
        prompt: 'Once upon a time',
        max_tokens: 32,
      })
      must(typeof choices[0]?.text === 'string', `the text is ${formatValue(choices[0]?.text)}`)
      must(
        /^(stop|length)$/.test(String(choices[0]?.finish_reason)),
        `the finish reason is ${formatValue(choices[0]?.finish_reason)}`,
      )
      must((usage?.prompt_tokens ?? 0) > 0, 'usage is missing')
    },
  },
  {
    feature: 'stream',
    proves: 'A stream of text arrives in chunks with one finish reason.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('completion')
      const stream = await context.openai.completions.create({
        model,
        prompt: 'One, two, three,',
        max_tokens: 32,
        stream: true,
      })
      const endings: string[] = []
      let pieces = 0
      for await (const { choices } of stream)
        for (const { text, finish_reason } of choices) {
          if (text !== '') pieces++
          if (finish_reason) endings.push(finish_reason)
        }
      must(pieces > 1, `the text arrived in ${pieces} chunk`)
      must(endings.length === 1, `the finish reasons are ${formatValue(endings)}`)
    },
  },
  {
    feature: 'unknown model',
    proves: 'An unknown model is rejected with an error that names it.',
    calls: 1,
    async run(context) {
      await noSuchModel(context.openai.completions.create({ model: unknownModel, prompt: 'Once' }))
    },
  },
]

async function noSuchModel(call: Promise<unknown>): Promise<void> {
  const refusal = await expectRejection(call, 'the model does not exist')
  must(refusal.status === 404 || refusal.status === 400, `expected status 404; ${describeRejection(refusal)}`)
  must(namesField(refusal, unknownModel), `the error does not name the model; ${describeRejection(refusal)}`)
}

const sentences = ['A cat sat on the mat.', 'The cat sat on a mat.', 'Quarterly revenue grew by four percent.']

/** Requests vectors as numbers explicitly: by default the SDK requests base64 and decodes it. */
async function vectors(context: Context, input: string | string[]): Promise<number[][]> {
  const model = context.modelFor('embedding')
  const { data } = await context.openai.embeddings.create({ model, input, encoding_format: 'float' })
  must(Array.isArray(data), 'the response has no list of vectors')
  return [...data].sort((one, other) => one.index - other.index).map(({ embedding }) => embedding)
}

const product = (one: readonly number[] = [], other: readonly number[] = []): number =>
  one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)

const cosine = (one: readonly number[] = [], other: readonly number[] = []): number =>
  product(one, other) / Math.sqrt(product(one, one) * product(other, other))

const embeddings: readonly Omit<Check, 'format' | 'needs'>[] = [
  {
    feature: 'numbers',
    proves: 'A text becomes a vector of numbers.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const [vector = []] = await vectors(context, 'Hello')
      must(vector.length > 1, `the vector has ${vector.length} numbers`)
      must(vector.every(Number.isFinite), 'the vector contains values that are not finite numbers')
    },
  },
  {
    feature: 'several',
    proves: 'Each text becomes one vector, and similar texts have closer vectors.',
    calls: 1,
    async run(context) {
      const [cat, other, revenue, ...more] = await vectors(context, sentences)
      must(revenue !== undefined && more.length === 0, `expected ${sentences.length} vectors`)
      const [near, far] = [cosine(cat, other), cosine(cat, revenue)]
      must(near > far, `similar texts have a similarity of ${near.toFixed(3)}, others ${far.toFixed(3)}`)
    },
  },
  {
    feature: 'base64',
    proves: 'The vector is base64 if requested, with the same values.',
    calls: 2,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data } = await context.openai.embeddings.create({ model, input: 'Hello', encoding_format: 'base64' })
      const coded: unknown = data[0]?.embedding
      must(typeof coded === 'string', `the vector is ${formatValue(coded)}`)
      const bytes = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0))
      must(bytes.length % 4 === 0, `${bytes.length} bytes are not a list of 32-bit numbers`)
      const [plain = []] = await vectors(context, 'Hello')
      const same = cosine(plain, [...new Float32Array(bytes.buffer)])
      must(same > 0.999, `the similarity of the two vectors is only ${same.toFixed(3)}`)
    },
  },
  {
    feature: 'SDK default',
    proves: 'The SDK can read its own default request’s response.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data, usage } = await context.openai.embeddings.create({ model, input: 'Hello' })
      must(Number.isFinite(data[0]?.embedding[0]), `the vector begins with ${formatValue(data[0]?.embedding[0])}`)
      must((usage?.prompt_tokens ?? 0) > 0, 'usage is missing')
    },
  },
  {
    feature: 'dimensions',
    proves: 'The vector has the requested dimensions, or dimensions is rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data } = await context.optionalFeature(['dimensions', 'matryoshka'], () =>
        context.openai.embeddings.create({ model, input: 'Hello', dimensions: 256, encoding_format: 'float' }),
      )
      must(data[0]?.embedding.length === 256, `the vector has ${data[0]?.embedding.length} numbers, expected 256`)
    },
  },
  {
    feature: 'unknown model',
    proves: 'An unknown model is rejected with an error that names it.',
    calls: 1,
    run: (context) => noSuchModel(context.openai.embeddings.create({ model: unknownModel, input: 'Hello' })),
  },
]

const documents = ['Bread is baked in an oven.', 'Paris is the capital of France.', 'Ships float on the sea.']

/** Sends the request of Cohere and Jina, which most servers accept: rerank has no official SDK. */
async function ranked(context: Context, more: JsonObject): Promise<JsonObject[]> {
  const answer = await context.post('chat', '/v1/rerank', {
    model: context.modelFor('rerank'),
    query: 'What is the capital of France?',
    documents,
    ...more,
  })
  return listOf(objectOf(await jsonOf(answer)).results).map(objectOf)
}

const rerank: readonly Omit<Check, 'format' | 'needs'>[] = [
  {
    feature: 'order',
    proves: 'The most relevant document comes first, and scores are in descending order.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const results = await ranked(context, {})
      must(results.length === documents.length, `received ${results.length} results for ${documents.length} documents`)
      must(results[0]?.index === 1, `the first result is document ${formatValue(results[0]?.index)}, expected 1`)
      const scores = results.map(({ relevance_score }) => numberOf(relevance_score) ?? Number.NaN)
      must(
        scores.every((score, at) => at === 0 || score <= (scores[at - 1] ?? 0)),
        `the scores are ${formatValue(scores)}`,
      )
    },
  },
  {
    feature: 'top n',
    proves: 'The field top_n limits the number of results.',
    calls: 1,
    async run(context) {
      const results = await ranked(context, { top_n: 1 })
      must(results.length === 1, `received ${results.length} results, expected 1`)
    },
  },
]

const of = (checks: readonly Omit<Check, 'format' | 'needs'>[], same: Pick<Check, 'format' | 'needs'>): Check[] =>
  checks.map((check) => ({ ...check, ...same }))

/** Checks of operations with text input and text or numeric output. */
export const textOperations: readonly Check[] = [
  ...of(completions, { format: 'completions', needs: 'completion' }),
  ...of(embeddings, { format: 'embeddings', needs: 'embedding' }),
  ...of(rerank, { format: 'rerank', needs: 'rerank' }),
]
