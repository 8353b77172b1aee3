import { type JsonObject, listOf, numberOf, objectOf } from '../base/json.ts'
import type { Check } from './check.ts'
import type { Context } from './context.ts'
import { must, shown } from './expectations.ts'
import { refused, unknownModel } from './features-errors.ts'
import { jsonOf, names, toldBy } from './rejection.ts'

const completions: readonly Omit<Check, 'format' | 'needs'>[] = [
  {
    feature: 'text',
    proves: 'A prompt is continued, with an ending and the tokens counted.',
    calls: 1,
    door: true,
    async run(context) {
      const model = context.modelFor('completion')
      const { choices, usage } = await context.openai.completions.create({
        model,
        prompt: 'Once upon a time',
        max_tokens: 32,
      })
      must(typeof choices[0]?.text === 'string', `the text is ${shown(choices[0]?.text)}`)
      must(
        /^(stop|length)$/.test(String(choices[0]?.finish_reason)),
        `the ending is ${shown(choices[0]?.finish_reason)}`,
      )
      must((usage?.prompt_tokens ?? 0) > 0, 'the tokens are not counted')
    },
  },
  {
    feature: 'stream',
    proves: 'A stream of text comes in pieces, with one ending.',
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
      must(pieces > 1, `the text came in ${pieces} piece`)
      must(endings.length === 1, `the endings are ${shown(endings)}`)
    },
  },
  {
    feature: 'unknown model',
    proves: 'A model that does not exist is refused as such, by its name.',
    calls: 1,
    async run(context) {
      await noSuchModel(context.openai.completions.create({ model: unknownModel, prompt: 'Once' }))
    },
  },
]

async function noSuchModel(call: Promise<unknown>): Promise<void> {
  const refusal = await refused(call, 'there is no such model')
  must(refusal.status === 404 || refusal.status === 400, `expected status 404; ${toldBy(refusal)}`)
  must(names(refusal, unknownModel), `the model is not named; ${toldBy(refusal)}`)
}

const sentences = ['A cat sat on the mat.', 'The cat sat on a mat.', 'Quarterly revenue grew by four percent.']

/** Vectors as numbers, asked for as such: without a word the SDK asks for base64 and decodes it. */
async function vectors(context: Context, input: string | string[]): Promise<number[][]> {
  const model = context.modelFor('embedding')
  const { data } = await context.openai.embeddings.create({ model, input, encoding_format: 'float' })
  must(Array.isArray(data), 'the answer has no list of vectors')
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
    door: true,
    async run(context) {
      const [vector = []] = await vectors(context, 'Hello')
      must(vector.length > 1, `the vector has ${vector.length} numbers`)
      must(vector.every(Number.isFinite), 'not all of the vector are numbers')
    },
  },
  {
    feature: 'several',
    proves: 'Several texts become as many vectors, and those of texts that are alike lie nearer each other.',
    calls: 1,
    async run(context) {
      const [cat, other, revenue, ...more] = await vectors(context, sentences)
      must(revenue !== undefined && more.length === 0, `not ${sentences.length} vectors came`)
      const [near, far] = [cosine(cat, other), cosine(cat, revenue)]
      must(near > far, `texts alike are ${near.toFixed(3)} near, others ${far.toFixed(3)}`)
    },
  },
  {
    feature: 'base64',
    proves: 'The vector comes as base64 where that is asked for, and is the same one.',
    calls: 2,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data } = await context.openai.embeddings.create({ model, input: 'Hello', encoding_format: 'base64' })
      const coded: unknown = data[0]?.embedding
      must(typeof coded === 'string', `the vector is ${shown(coded)}`)
      const bytes = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0))
      must(bytes.length % 4 === 0, `${bytes.length} bytes are no 32-bit numbers`)
      const [plain = []] = await vectors(context, 'Hello')
      const same = cosine(plain, [...new Float32Array(bytes.buffer)])
      must(same > 0.999, `the two vectors are only ${same.toFixed(3)} near`)
    },
  },
  {
    feature: 'SDK default',
    proves: 'What the SDK asks for by itself, it can read.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data, usage } = await context.openai.embeddings.create({ model, input: 'Hello' })
      must(Number.isFinite(data[0]?.embedding[0]), `the vector begins with ${shown(data[0]?.embedding[0])}`)
      must((usage?.prompt_tokens ?? 0) > 0, 'the tokens are not counted')
    },
  },
  {
    feature: 'dimensions',
    proves: 'A vector is as long as asked for, or the wish is refused by its name.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('embedding')
      const { data } = await context.gift(['dimensions', 'matryoshka'], () =>
        context.openai.embeddings.create({ model, input: 'Hello', dimensions: 256, encoding_format: 'float' }),
      )
      must(data[0]?.embedding.length === 256, `the vector has ${data[0]?.embedding.length} numbers, not 256`)
    },
  },
  {
    feature: 'unknown model',
    proves: 'A model that does not exist is refused as such, by its name.',
    calls: 1,
    run: (context) => noSuchModel(context.openai.embeddings.create({ model: unknownModel, input: 'Hello' })),
  },
]

const documents = ['Bread is baked in an oven.', 'Paris is the capital of France.', 'Ships float on the sea.']

/** There is no official SDK for it: Cohere's and Jina's request, which most servers take. */
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
    proves: 'The document that answers the question comes first, and the scores fall.',
    calls: 1,
    door: true,
    async run(context) {
      const results = await ranked(context, {})
      must(results.length === documents.length, `${results.length} results came for ${documents.length} documents`)
      must(results[0]?.index === 1, `the first is document ${shown(results[0]?.index)}, not 1`)
      const scores = results.map(({ relevance_score }) => numberOf(relevance_score) ?? Number.NaN)
      must(
        scores.every((score, at) => at === 0 || score <= (scores[at - 1] ?? 0)),
        `the scores are ${shown(scores)}`,
      )
    },
  },
  {
    feature: 'top n',
    proves: 'So many results come as were asked for.',
    calls: 1,
    async run(context) {
      const results = await ranked(context, { top_n: 1 })
      must(results.length === 1, `${results.length} results came, not 1`)
    },
  },
]

const of = (checks: readonly Omit<Check, 'format' | 'needs'>[], same: Pick<Check, 'format' | 'needs'>): Check[] =>
  checks.map((check) => ({ ...check, ...same }))

/** Operations of text in, and numbers or text out. */
export const textOperations: readonly Check[] = [
  ...of(completions, { format: 'completions', needs: 'completion' }),
  ...of(embeddings, { format: 'embeddings', needs: 'embedding' }),
  ...of(rerank, { format: 'rerank', needs: 'rerank' }),
]
