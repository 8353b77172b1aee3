import type { Check } from './check.ts'
import { shortPrompt } from './dialect.ts'
import { formatValue, must } from './expectations.ts'
import { expectRejection, unknownModel } from './features-errors.ts'
import { describeRejection } from './rejection.ts'

/** Maximum number of list entries to search: lists can be long. */
const most = 2000

async function firstOf<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of list) {
    items.push(item)
    if (items.length >= most) break
  }
  return items
}

/** Checks of model lists and token counts. */
export const modelOperations: readonly Check[] = [
  {
    format: 'models',
    hasExtraPaths: true,
    feature: 'list for OpenAI',
    proves: 'The OpenAI SDK lists models, each with an id.',
    calls: 1,
    async run({ openai }) {
      const models = await firstOf(openai.models.list())
      must(models.length > 0, 'the list is empty')
      const odd = models.find(({ id, object }) => typeof id !== 'string' || object !== 'model')
      must(odd === undefined, `an entry is ${formatValue(odd)}`)
    },
  },
  {
    format: 'models',
    hasExtraPaths: true,
    feature: 'one for OpenAI',
    proves: 'A model is retrieved by id, and an unknown id is rejected.',
    calls: 3,
    async run({ openai }) {
      const [first] = await firstOf(openai.models.list())
      must(first !== undefined, 'the list is empty')
      const one = await openai.models.retrieve(first.id)
      must(one.id === first.id, `requested ${formatValue(first.id)}, received ${formatValue(one.id)}`)
      const refusal = await expectRejection(openai.models.retrieve(unknownModel), 'the model does not exist')
      must(refusal.status === 404, `expected status 404; ${describeRejection(refusal)}`)
    },
  },
  {
    format: 'models',
    hasExtraPaths: true,
    feature: 'list for Anthropic',
    dependsOn: 'messages',
    proves: 'The Anthropic SDK lists models page by page, each with a display name.',
    calls: 1,
    async run({ anthropic }) {
      const models = await firstOf(anthropic.models.list({ limit: 1000 }))
      must(models.length > 0, 'the list is empty')
      const odd = models.find(({ id, type, display_name }) => !id || type !== 'model' || !display_name)
      must(odd === undefined, `an entry is ${formatValue(odd)}`)
    },
  },
  {
    format: 'models',
    hasExtraPaths: true,
    feature: 'list for Google',
    dependsOn: 'gemini',
    proves: 'The Google SDK lists models page by page, each with a name that begins with models/.',
    calls: 1,
    async run({ google }) {
      const models = await firstOf(await google.models.list({ config: { pageSize: 1000 } }))
      must(models.length > 0, 'the list is empty')
      const odd = models.find(({ name = '' }) => !name.startsWith('models/'))
      must(odd === undefined, `an entry is ${formatValue(odd)}`)
    },
  },
  {
    format: 'models',
    hasExtraPaths: true,
    feature: 'pages for Anthropic',
    dependsOn: 'messages',
    proves: 'Pages of one model each form the same list.',
    calls: 22,
    async run({ anthropic }) {
      const whole = await anthropic.models.list({ limit: 20 })
      const wanted = whole.data.map(({ id }) => id)
      const first = await anthropic.models.list({ limit: 1 })
      must(first.data.length === 1, `a page of size 1 has ${first.data.length} models`)
      const ids: string[] = []
      for await (const { id } of anthropic.models.list({ limit: 1 })) {
        ids.push(id)
        if (ids.length >= wanted.length) break
      }
      must(ids.join() === wanted.join(), `the pages list ${formatValue(ids)}, the whole list is ${formatValue(wanted)}`)
    },
  },
  {
    format: 'tokens',
    hasExtraPaths: true,
    feature: 'for messages',
    dependsOn: 'messages',
    proves: 'The tokens of a Messages request are counted, and a longer text has more.',
    calls: 2,
    async run(context) {
      const count = async (content: string): Promise<number> => {
        const model = context.model('messages')
        const messages = [{ role: 'user' as const, content }]
        return (await context.anthropic.messages.countTokens({ model, messages })).input_tokens
      }
      longer(await count(shortPrompt), await count(shortPrompt.repeat(4)))
    },
  },
  {
    format: 'tokens',
    hasExtraPaths: true,
    feature: 'for generateContent',
    dependsOn: 'gemini',
    proves: 'The tokens of a generateContent request are counted, and a longer text has more.',
    calls: 2,
    async run(context) {
      const count = async (contents: string): Promise<number | undefined> =>
        (await context.google.models.countTokens({ model: context.model('gemini'), contents })).totalTokens
      longer(await count(shortPrompt), await count(shortPrompt.repeat(4)))
    },
  },
  {
    format: 'tokens',
    hasExtraPaths: true,
    feature: 'for responses',
    dependsOn: 'responses',
    proves: 'The tokens of a Responses request are counted, and a longer text has more.',
    calls: 2,
    async run(context) {
      const count = async (input: string): Promise<number> =>
        (await context.openai.responses.inputTokens.count({ model: context.model('responses'), input })).input_tokens
      longer(await count(shortPrompt), await count(shortPrompt.repeat(4)))
    },
  },
]

function longer(short: number | undefined, long: number | undefined): void {
  must(
    Number.isInteger(short) && Number.isInteger(long),
    `the counts are ${formatValue(short)} and ${formatValue(long)}`,
  )
  must(
    (short ?? 0) > 0 && (long ?? 0) > (short ?? 0),
    `a short text has ${short} tokens, one four times as long ${long}`,
  )
}
