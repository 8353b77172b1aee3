// Synthetic streams of the four upstream formats, with every field of each event.

/** @typedef {'chat' | 'messages' | 'gemini' | 'responses'} Format */
/** @typedef {{ event?: string | undefined, data: string }} SseEvent */
/**
 * @typedef {{ thoughts: string[], words: string[], calls: { id: string, name: string, pieces: string[] }[] }} Answer
 * content in pieces
 */

const model = 'bench-model-2026-01-01'
const created = 1_760_000_000
const vocabulary = [
  ' the',
  ' forecast',
  ' for',
  ' Łódź',
  ' says:',
  '\n\n- ',
  '12',
  '°C',
  ' at most',
  ', and',
  ' it "may"',
  ' rain',
  '.',
]
/** @param {number} count @param {number} size tokens per piece */
const pieces = (count, size) =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: size }, (_, j) => vocabulary[(i * size + j) % vocabulary.length]).join(''),
  )

/** @param {number} count @param {number} size */
const callsOf = (count, size) =>
  Array.from({ length: count }, (_, i) => {
    const input = JSON.stringify({ places: Array.from({ length: 12 }, (_, j) => `town ${i}-${j}`), unit: 'celsius' })
    const parts = input.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
    return { id: `call_Bench${i}Ab9`, name: 'get_forecast', pieces: [...parts] }
  })

/** Tokens per event: some upstreams send single tokens, others batches. */
const tokensPerEvent = { chat: 1, messages: 2, gemini: 6, responses: 1 }

/** @type {{ [kind: string]: (format: Format) => Answer }} */
const answers = {
  text: (format) => ({ thoughts: [], words: pieces(200, tokensPerEvent[format]), calls: [] }),
  tools: (format) => ({
    thoughts: pieces(60, tokensPerEvent[format]),
    words: pieces(20, tokensPerEvent[format]),
    calls: callsOf(3, 6 * tokensPerEvent[format]),
  }),
}

/** @param {Answer} answer @returns {SseEvent[]} */
function chatStream({ thoughts, words, calls }) {
  /** @param {object} delta @param {string | null} [finish] */
  const chunk = (delta, finish = null) => ({
    data: JSON.stringify({
      id: 'chatcmpl-BenchAbCdEfGhIjKlMnOpQrStUvWx',
      object: 'chat.completion.chunk',
      created,
      model,
      service_tier: 'default',
      system_fingerprint: 'fp_bench',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
    }),
  })
  const usage = {
    prompt_tokens: 1210,
    completion_tokens: 240,
    total_tokens: 1450,
    prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 64, audio_tokens: 0 },
  }
  return [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...thoughts.map((text) => chunk({ reasoning_content: text })),
    ...words.map((text) => chunk({ content: text })),
    ...calls.flatMap(({ id, name, pieces }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces.map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    {
      data: JSON.stringify({
        id: 'chatcmpl-BenchAbCdEfGhIjKlMnOpQrStUvWx',
        object: 'chat.completion.chunk',
        created,
        model,
        choices: [],
        usage,
      }),
    },
    { data: '[DONE]' },
  ]
}

/** @param {Answer} answer @returns {SseEvent[]} */
function messagesStream({ thoughts, words, calls }) {
  /** @param {{ type: string }} fields */
  const event = (fields) => ({ event: fields.type, data: JSON.stringify(fields) })
  const blocks = [
    ...(thoughts.length === 0
      ? []
      : [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...thoughts.map((thinking) => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature: 'QmVuY2g='.repeat(40) },
            ],
          },
        ]),
    { start: { type: 'text', text: '' }, deltas: words.map((text) => ({ type: 'text_delta', text })) },
    ...calls.map(({ id, name, pieces }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...pieces].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    })),
  ]
  const usage = { input_tokens: 186, cache_creation_input_tokens: 0, cache_read_input_tokens: 1024, output_tokens: 1 }
  const message = {
    id: 'msg_BenchAbCdEfGhIjKlMn',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, service_tier: 'standard' },
  }
  const delta = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null }
  const end = { type: 'message_delta', delta, usage: { ...usage, output_tokens: 240 } }
  return [
    event(Object.assign({ type: 'message_start' }, { message })),
    event({ type: 'ping' }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event(Object.assign({ type: 'content_block_start' }, { index, content_block: start })),
      ...deltas.map((piece) => event(Object.assign({ type: 'content_block_delta' }, { index, delta: piece }))),
      event(Object.assign({ type: 'content_block_stop' }, { index })),
    ]),
    event(end),
    event({ type: 'message_stop' }),
  ]
}

/** @param {Answer} answer @returns {SseEvent[]} */
function geminiStream({ thoughts, words, calls }) {
  const parts = [
    ...thoughts.map((text) => ({ text, thought: true })),
    ...words.map((text) => ({ text })),
    ...calls.map(({ id, name, pieces }, i) => ({
      functionCall: { id, name, args: JSON.parse(pieces.join('')) },
      ...(i === 0 ? { thoughtSignature: 'QmVuY2g='.repeat(40) } : {}),
    })),
  ]
  return parts.map((part, i) => ({
    data: JSON.stringify({
      candidates: [
        {
          content: { parts: [part], role: 'model' },
          ...(i === parts.length - 1 ? { finishReason: 'STOP' } : {}),
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 1210,
        candidatesTokenCount: i + 1,
        totalTokenCount: 1274 + i,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1210 }],
        thoughtsTokenCount: 64,
      },
      modelVersion: model,
      responseId: 'BenchAbCdEfGhIjKlMnOpQr',
    }),
  }))
}

/** @param {Answer} answer @returns {SseEvent[]} */
function responsesStream({ thoughts, words, calls }) {
  /** @type {SseEvent[]} */
  const out = []
  /** @type {object[]} */
  const output = []
  /** @param {string} type @param {object} fields */
  const tell = (type, fields) => {
    out.push({ event: type, data: JSON.stringify({ type, sequence_number: out.length, ...fields }) })
  }
  const head = { id: 'resp_BenchAbCdEfGhIjKlMnOpQrStUvWxYz0123456789', object: 'response', created_at: created }
  const tail = {
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: 2048,
    model,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: 'medium', summary: 'auto' },
    service_tier: 'default',
    store: false,
    temperature: 0.7,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
    metadata: {},
  }
  /** @param {object} begun @param {object} whole @param {(place: { item_id: string, output_index: number }) => void} grow */
  const item = (begun, whole, grow) => {
    const { id } = /** @type {{ id: string }} */ (begun)
    const place = { item_id: id, output_index: output.length }
    tell('response.output_item.added', { output_index: place.output_index, item: begun })
    grow(place)
    tell('response.output_item.done', { output_index: place.output_index, item: whole })
    output.push(whole)
  }
  const begun = { ...head, status: 'in_progress', background: false, ...tail, output: [], usage: null }
  tell('response.created', { response: begun })
  tell('response.in_progress', { response: begun })
  if (thoughts.length > 0) {
    const text = thoughts.join('')
    const reasoning = { id: 'rs_BenchAbCdEfGhIjKlMnOpQrStUvWxYz0123456789', type: 'reasoning' }
    const entry = { type: 'summary_text', text }
    item({ ...reasoning, summary: [] }, { ...reasoning, summary: [entry] }, (place) => {
      const at = { ...place, summary_index: 0 }
      tell('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
      for (const delta of thoughts) tell('response.reasoning_summary_text.delta', { ...at, delta })
      tell('response.reasoning_summary_text.done', { ...at, text })
      tell('response.reasoning_summary_part.done', { ...at, part: entry })
    })
  }
  const message = { id: 'msg_BenchAbCdEfGhIjKlMnOpQrStUvWxYz0123456789', type: 'message', role: 'assistant' }
  const text = words.join('')
  const part = { type: 'output_text', annotations: [], logprobs: [], text }
  item(
    { ...message, status: 'in_progress', content: [] },
    { ...message, status: 'completed', content: [part] },
    (place) => {
      const at = { ...place, content_index: 0 }
      tell('response.content_part.added', { ...at, part: { ...part, text: '' } })
      for (const delta of words) tell('response.output_text.delta', { ...at, delta, logprobs: [] })
      tell('response.output_text.done', { ...at, text, logprobs: [] })
      tell('response.content_part.done', { ...at, part })
    },
  )
  for (const { id, name, pieces } of calls) {
    const call = { id: `fc_${id}AbCdEfGhIjKlMnOpQrStUvWxYz0123456789`, type: 'function_call' }
    const whole = pieces.join('')
    item(
      { ...call, status: 'in_progress', arguments: '', call_id: id, name },
      { ...call, status: 'completed', arguments: whole, call_id: id, name },
      (place) => {
        for (const delta of pieces) tell('response.function_call_arguments.delta', { ...place, delta })
        tell('response.function_call_arguments.done', { ...place, arguments: whole })
      },
    )
  }
  const usage = {
    input_tokens: 1210,
    input_tokens_details: { cached_tokens: 1024 },
    output_tokens: 240,
    output_tokens_details: { reasoning_tokens: 64 },
    total_tokens: 1450,
  }
  const end = { ...head, status: 'completed', background: false, ...tail, output, usage }
  tell('response.completed', { response: end })
  return out
}

const streams = { chat: chatStream, messages: messagesStream, gemini: geminiStream, responses: responsesStream }

/** Kinds of streams: text only; reasoning, text and tool calls. */
export const kinds = Object.keys(answers)

/** @param {Format} format @param {string} kind @returns {SseEvent[]} */
export function streamOf(format, kind) {
  const answer = answers[kind]
  if (answer === undefined) throw new Error(`unknown kind of stream: ${kind}`)
  return streams[format](answer(format))
}
