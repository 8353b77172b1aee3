// Requests and responses, created once, so that only the proxy is measured.

/** @typedef {'chat' | 'messages'} Format */

/** @param {number} bytes */
const prose = (bytes) => 'All work and no play makes a gateway dull. '.repeat(Math.ceil(bytes / 43)).slice(0, bytes)

/**
 * Returns a request of about `bytes` bytes.
 * @param {Format} format @param {string} model @param {number} bytes @param {boolean} stream
 */
export function requestBody(format, model, bytes, stream) {
  const turn = { role: 'user', content: '' }
  const body = {
    model,
    ...(format === 'chat'
      ? { max_completion_tokens: 512 }
      : { max_tokens: 512, system: 'You are a careful assistant.' }),
    temperature: 0.7,
    stream,
    messages: format === 'chat' ? [{ role: 'system', content: 'You are a careful assistant.' }, turn] : [turn],
  }
  turn.content = prose(Math.max(1, bytes - JSON.stringify(body).length))
  return JSON.stringify(body)
}

const turns = /** @type {const} */ (['user', 'assistant'])

/**
 * Returns a chat request with this many messages and tools. @param {string} model @param {number} messages @param
 * {number} [tools]
 */
export const conversationBody = (model, messages, tools = 0) =>
  JSON.stringify({
    model,
    max_completion_tokens: 512,
    temperature: 0.7,
    messages: Array.from({ length: messages }, (_, i) => ({
      role: turns[i % 2],
      content: `${i}: "All work" and no play\nmakes a gateway dull, in Łódź as in ${prose(i % 200)}`,
    })),
    ...(tools === 0
      ? {}
      : {
          tools: Array.from({ length: tools }, (_, i) => ({
            type: 'function',
            function: {
              name: `look_up_${i}`,
              description: `Looks up what is known of ${prose(60 + (i % 40))}`,
              parameters: {
                type: 'object',
                properties: {
                  place: { type: 'string', description: 'A town' },
                  days: { type: 'integer', minimum: 1, maximum: 14 },
                  detail: { type: 'array', items: { type: 'string', enum: ['wind', 'rain', 'snow'] } },
                },
                required: ['place'],
              },
            },
          })),
        }),
  })

/**
 * Returns a chat request of about `bytes` bytes: a long conversation with twenty tools. @param {string} model @param
 * {number} bytes
 */
export function longConversation(model, bytes) {
  const one = conversationBody(model, 200, 20).length - conversationBody(model, 0, 20).length
  const rest = bytes - conversationBody(model, 0, 20).length
  return conversationBody(model, Math.round((rest / one) * 200), 20)
}

/** Returns a response of about `bytes` bytes. @param {Format} format @param {number} bytes */
export function answerBody(format, bytes) {
  return JSON.stringify(
    format === 'chat'
      ? {
          id: 'chatcmpl-bench',
          object: 'chat.completion',
          created: 1_760_000_000,
          model: 'bench-model',
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: prose(bytes - 420), refusal: null, annotations: [] },
              logprobs: null,
              finish_reason: 'stop',
            },
          ],
          usage: { prompt_tokens: 210, completion_tokens: 140, total_tokens: 350 },
          service_tier: 'default',
          system_fingerprint: null,
        }
      : {
          id: 'msg_bench',
          type: 'message',
          role: 'assistant',
          model: 'bench-model',
          content: [{ type: 'text', text: prose(bytes - 320) }],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: { input_tokens: 210, output_tokens: 140, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        },
  )
}

/**
 * Returns a chat stream of `count` events, including `[DONE]`. The gateway always requests usage, and so all events but the one with
 * the usage have `usage: null`, like those of OpenAI.
 * @param {number} count @returns {string[]}
 */
export function chatEvents(count) {
  /** @param {object} delta @param {string | null} finish */
  const chunk = (delta, finish) =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion.chunk',
      created: 1_760_000_000,
      model: 'bench-model',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
    })}\n\n`
  const words = Array.from({ length: count - 4 }, (_, i) => chunk({ content: ` word${i}` }, null))
  const usage = {
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'bench-model',
    choices: [],
    usage: { prompt_tokens: 210, completion_tokens: count - 4, total_tokens: 206 + count },
  }
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...words,
    chunk({}, 'stop'),
    `data: ${JSON.stringify(usage)}\n\n`,
    'data: [DONE]\n\n',
  ]
}

/** Returns a messages stream of `count` events. @param {number} count @returns {string[]} */
export function messagesEvents(count) {
  /** @param {{ type: string, [member: string]: unknown }} data */
  const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
  const words = Array.from({ length: count - 5 }, (_, i) =>
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ` word${i}` } }),
  )
  const usage = { input_tokens: 210, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
  return [
    event({
      type: 'message_start',
      message: {
        id: 'msg_bench',
        type: 'message',
        role: 'assistant',
        model: 'bench-model',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...words,
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { ...usage, output_tokens: count - 5 },
    }),
    event({ type: 'message_stop' }),
  ]
}
