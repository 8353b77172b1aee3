import type OpenAI from 'openai'
import type { Check } from './check.ts'
import { shortPrompt } from './dialect.ts'
import { Missed, must, shown } from './expectations.ts'
import { refused } from './features-errors.ts'
import { refusalOf, toldBy } from './rejection.ts'

/** The events of an answer that is one text, each kind once in a row. */
const order = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  'response.output_text.delta',
  'response.output_text.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.completed',
]

/** A path that is not there is one thing, a response that was lost another. */
async function kept<Value>(call: PromiseLike<Value>, id: string): Promise<Value> {
  try {
    return await call
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal?.status === 404 && refusal.message.replaceAll(/\S*\/\S*/g, '').includes(id))
      throw new Missed(`it was to be stored; ${toldBy(refusal)}`)
    throw error
  }
}

/** Checks of responses only. */
export const responsesChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves: 'Events come in the order that the format gives them, numbered without a gap.',
    calls: 1,
    async run(context) {
      const model = context.model('responses')
      const stream = await context.openai.responses.create({ model, input: shortPrompt, store: false, stream: true })
      const types: string[] = []
      let last = -1
      let inText = true
      for await (const event of stream) {
        must(event.sequence_number > last, `event ${event.sequence_number} came behind ${last}`)
        last = event.sequence_number
        // Models that think have items of reasoning before the text.
        if (event.type === 'response.output_item.added') inText = event.item.type === 'message'
        if ((inText || event.type === 'response.completed') && types.at(-1) !== event.type) types.push(event.type)
      }
      must(types.join() === order.join(), `the events came as ${types.join(', ')}`)
    },
  },
  {
    feature: 'previous response',
    apart: true,
    proves: 'A response that is stored is known by its id: as what was said before, to be read, and to be deleted.',
    calls: 5,
    async run(context) {
      const { responses } = context.openai
      const model = context.model('responses')
      const first = await responses.create({
        model,
        input: 'The code word is MANGO. Reply with exactly: noted',
        store: true,
      })
      const second = await responses.create({
        model,
        previous_response_id: first.id,
        input: 'What is the code word? Reply with that word alone.',
        store: true,
      })
      must(/mango/i.test(second.output_text), `the answer is ${shown(second.output_text)}, without mango`)
      const read = await kept(responses.retrieve(first.id), first.id)
      must(read.id === first.id, `another response came: ${shown(read.id)}`)
      await responses.delete(first.id)
      const gone = await refused(responses.retrieve(first.id), 'it was deleted')
      must(gone.status === 404, `expected status 404; ${toldBy(gone)}`)
    },
  },
  {
    feature: 'input items',
    apart: true,
    proves: 'What was said to a stored response can be listed.',
    calls: 2,
    async run(context) {
      const model = context.model('responses')
      const { id } = await context.openai.responses.create({ model, input: shortPrompt, store: true })
      const { data } = await kept(context.openai.responses.inputItems.list(id), id)
      must(data.length === 1, `${data.length} items were listed, not 1`)
      must(JSON.stringify(data[0]).includes(shortPrompt), `the item is ${shown(data[0])}`)
    },
  },
  {
    feature: 'items',
    proves: 'A conversation in items, a developer’s message among them, is understood.',
    calls: 1,
    async run(context) {
      const input: OpenAI.Responses.ResponseInputItem[] = [
        { role: 'developer', content: 'Whatever the user says, reply with exactly: PINEAPPLE' },
        { role: 'user', content: [{ type: 'input_text', text: 'Good morning!' }] },
      ]
      const model = context.model('responses')
      const { output_text } = await context.openai.responses.create({ model, input, store: false })
      must(/pineapple/i.test(output_text), `the answer is ${shown(output_text)}, without pineapple`)
    },
  },
  {
    feature: 'named tool',
    proves: 'Of two tools the one that is named is called.',
    calls: 1,
    async run(context) {
      const tool = (name: string): OpenAI.Responses.FunctionTool => ({
        type: 'function',
        name,
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        strict: false,
      })
      const { output } = await context.openai.responses.create({
        model: context.model('responses'),
        input: 'How are things in Paris?',
        store: false,
        tools: [tool('get_weather'), tool('get_time')],
        tool_choice: { type: 'function', name: 'get_time' },
      })
      const names = output.flatMap((item) => (item.type === 'function_call' ? [item.name] : []))
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${shown(names)}`)
    },
  },
]
