import type OpenAI from 'openai'
import type { Check } from './check.ts'
import { shortPrompt } from './dialect.ts'
import { CheckFailed, formatValue, must } from './expectations.ts'
import { expectRejection } from './features-errors.ts'
import { describeRejection, rejectionOf } from './rejection.ts'

/** Required order of the events of a text response, repetitions collapsed. */
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

/** Distinguishes a missing path from a lost response. */
async function kept<Value>(call: PromiseLike<Value>, id: string): Promise<Value> {
  try {
    return await call
  } catch (error) {
    const refusal = rejectionOf(error)
    if (refusal?.status === 404 && refusal.message.replaceAll(/\S*\/\S*/g, '').includes(id))
      throw new CheckFailed(`the response was not stored; ${describeRejection(refusal)}`)
    throw error
  }
}

/** Checks of Responses only. */
export const responsesChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves: 'Events arrive in the format’s order, numbered without gaps.',
    calls: 1,
    async run(context) {
      const model = context.model('responses')
      const stream = await context.openai.responses.create({ model, input: shortPrompt, store: false, stream: true })
      const types: string[] = []
      let last = -1
      let inText = true
      for await (const event of stream) {
        must(event.sequence_number > last, `event ${event.sequence_number} follows event ${last}`)
        last = event.sequence_number
        // Thinking models have reasoning items before the text.
        if (event.type === 'response.output_item.added') inText = event.item.type === 'message'
        if ((inText || event.type === 'response.completed') && types.at(-1) !== event.type) types.push(event.type)
      }
      must(types.join() === order.join(), `the order of events is ${types.join(', ')}`)
    },
  },
  {
    feature: 'previous response',
    hasExtraPaths: true,
    proves: 'A stored response can be continued by its id, retrieved and deleted.',
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
      must(/mango/i.test(second.output_text), `the text is ${formatValue(second.output_text)}, expected mango`)
      const read = await kept(responses.retrieve(first.id), first.id)
      must(read.id === first.id, `another response was retrieved: ${formatValue(read.id)}`)
      await responses.delete(first.id)
      const gone = await expectRejection(responses.retrieve(first.id), 'the response was deleted')
      must(gone.status === 404, `expected status 404; ${describeRejection(gone)}`)
    },
  },
  {
    feature: 'input items',
    hasExtraPaths: true,
    proves: 'The input items of a stored response can be listed.',
    calls: 2,
    async run(context) {
      const model = context.model('responses')
      const { id } = await context.openai.responses.create({ model, input: shortPrompt, store: true })
      const { data } = await kept(context.openai.responses.inputItems.list(id), id)
      must(data.length === 1, `received ${data.length} items, expected 1`)
      must(JSON.stringify(data[0]).includes(shortPrompt), `the item is ${formatValue(data[0])}`)
    },
  },
  {
    feature: 'items',
    proves: 'A conversation of items, including a developer message, is understood.',
    calls: 1,
    async run(context) {
      const input: OpenAI.Responses.ResponseInputItem[] = [
        { role: 'developer', content: 'Whatever the user says, reply with exactly: PINEAPPLE' },
        { role: 'user', content: [{ type: 'input_text', text: 'Good morning!' }] },
      ]
      const model = context.model('responses')
      const { output_text } = await context.openai.responses.create({ model, input, store: false })
      must(/pineapple/i.test(output_text), `the text is ${formatValue(output_text)}, expected pineapple`)
    },
  },
  {
    feature: 'named tool',
    proves: 'The tool named by tool_choice is called, not the other one.',
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
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${formatValue(names)}`)
    },
  },
]
