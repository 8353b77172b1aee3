// One conversation in each client format: a system prompt, thirty messages with tool calls, and a token limit.

/** @typedef {'chat' | 'messages' | 'gemini' | 'responses'} Format */
/** @typedef {{ user: string, call: { id: string, name: string, input: object }, result: string, answer: string }} Round */

const model = 'bench-model'
const system =
  'You are a careful assistant for a travel desk. Use the tools for facts, say where a fact comes from, and answer briefly.'
const places = ['Oslo', 'Łódź', 'Porto', 'Kyoto', 'Bergen', 'Lagos', 'São Paulo']

/** @type {readonly Round[]} */
const rounds = places.map((place, i) => ({
  user: `And what about ${place}? I would arrive on the ${i + 3}th and want to know whether to pack a coat,\nor "just" an umbrella.`,
  call: {
    id: `call_bench${i}`,
    name: 'get_forecast',
    input: { place, days: 3 + (i % 4), unit: 'celsius', detail: ['wind', 'rain'] },
  },
  result: JSON.stringify({ place, high: 12 + i, low: 3 + i, rain: i % 2 === 0, source: 'https://weather.example/' }),
  answer: `For ${place} the forecast says ${12 + i} degrees at most and ${3 + i} at night. **Pack a coat**: the evenings are cold, and it may rain.`,
}))
const last = 'Thank you. Now compare all seven places, please.'

const tools = [
  { name: 'get_forecast', more: { days: { type: 'integer', description: 'How many days' }, unit: { type: 'string' } } },
  { name: 'find_hotel', more: { stars: { type: 'integer' }, until: { type: 'string', description: 'ISO date' } } },
  { name: 'find_flight', more: { from: { type: 'string' }, seats: { type: 'integer' } } },
].map(({ name, more }) => ({
  name,
  description: `The tool ${name} of the travel desk. Answers JSON.`,
  schema: {
    type: 'object',
    properties: { place: { type: 'string', description: 'A town' }, ...more },
    required: ['place'],
  },
}))

const requests = {
  chat: () => ({
    model,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.7,
    max_completion_tokens: 2048,
    tool_choice: 'auto',
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    })),
    messages: [
      { role: 'system', content: system },
      ...rounds.flatMap(({ user, call, result, answer }) => [
        { role: 'user', content: user },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } },
          ],
        },
        { role: 'tool', tool_call_id: call.id, content: result },
        { role: 'assistant', content: answer },
      ]),
      { role: 'user', content: last },
    ],
  }),
  messages: () => ({
    model,
    stream: true,
    temperature: 0.7,
    max_tokens: 2048,
    system: [{ type: 'text', text: system }],
    tool_choice: { type: 'auto' },
    tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    messages: [
      ...rounds.flatMap(({ user, call, result, answer }) => [
        { role: 'user', content: user },
        { role: 'assistant', content: [{ type: 'tool_use', id: call.id, name: call.name, input: call.input }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: result }] },
        { role: 'assistant', content: [{ type: 'text', text: answer }] },
      ]),
      { role: 'user', content: [{ type: 'text', text: last }] },
    ],
  }),
  gemini: () => ({
    // The model, which comes from the URL.
    model,
    stream: true,
    systemInstruction: { parts: [{ text: system }] },
    generationConfig: { temperature: 0.7, maxOutputTokens: 2048 },
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    tools: [
      {
        functionDeclarations: tools.map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      },
    ],
    contents: [
      ...rounds.flatMap(({ user, call, result, answer }) => [
        { role: 'user', parts: [{ text: user }] },
        { role: 'model', parts: [{ functionCall: { id: call.id, name: call.name, args: call.input } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { id: call.id, name: call.name, response: JSON.parse(result) } }],
        },
        { role: 'model', parts: [{ text: answer }] },
      ]),
      { role: 'user', parts: [{ text: last }] },
    ],
  }),
  responses: () => ({
    model,
    stream: true,
    store: false,
    instructions: system,
    temperature: 0.7,
    max_output_tokens: 2048,
    tool_choice: 'auto',
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: schema,
      strict: false,
    })),
    input: [
      ...rounds.flatMap(({ user, call, result, answer }, i) => [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: user }] },
        {
          type: 'function_call',
          id: `fc_bench${i}`,
          call_id: call.id,
          name: call.name,
          arguments: JSON.stringify(call.input),
          status: 'completed',
        },
        { type: 'function_call_output', call_id: call.id, output: result },
        {
          type: 'message',
          id: `msg_bench${i}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: answer, annotations: [] }],
        },
      ]),
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: last }] },
    ],
  }),
}

/** Returns a request of some kB with thirty messages in a client format. @param {Format} format */
export const conversation = (format) => JSON.stringify(requests[format]())
