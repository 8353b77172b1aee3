// Cases that run through sockets. Each bar is the minimum ratio of the other side's CPU time per call to ours.
import { longConversation, requestBody } from './payloads.js'

/** @typedef {'gateway-log' | 'gateway-calls' | 'gateway-capture'} GatewayMode the gateway with a plugin */
/** @typedef {'express' | 'fastify' | 'hono'} Framework */
/** @typedef {'bare' | 'bare-parse' | 'gateway' | `${Framework}-bare`} Bare `gateway`: compares two settings of the gateway */

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} path path at the gateway
 * @property {string} barePath path at the bare proxy, which forwards it unchanged
 * @property {string} body
 * @property {{ [name: string]: string }} [headers]
 * @property {'gateway' | GatewayMode | Framework} [ours] host of the gateway; default: plain Node
 * @property {Bare} against
 * @property {number} [bar]
 * @property {string} expect text that a correct response contains
 * @property {{ provider: string, under: string }} [portkey] the equivalent configuration of Portkey
 */

const version = { 'anthropic-version': '2023-06-01' }
const kilobyte = 1024
const large = 207 * kilobyte

const json = {
  path: '/v1/chat/completions',
  barePath: '/json/v1/chat/completions',
  body: requestBody('chat', 'chat-model', kilobyte, false),
  expect: '"finish_reason":"stop"',
}

/** @type {readonly Framework[]} */
const frameworks = ['express', 'fastify', 'hono']

/** @type {readonly Case[]} */
export const cases = [
  {
    ...json,
    name: 'JSON pass-through, 1 kB',
    against: 'bare',
    bar: 0.8,
    portkey: { provider: 'openai', under: '/json/v1' },
  },
  {
    ...json,
    name: 'JSON pass-through with an access log, 1 kB',
    ours: 'gateway-log',
    against: 'gateway',
    barePath: json.path,
    bar: 0.95,
  },
  {
    ...json,
    name: 'JSON pass-through with recent calls, 1 kB',
    ours: 'gateway-calls',
    against: 'gateway',
    barePath: json.path,
    bar: 0.95,
  },
  {
    ...json,
    name: 'JSON pass-through with captured bodies, 1 kB',
    ours: 'gateway-capture',
    against: 'gateway',
    barePath: json.path,
  },
  {
    ...json,
    name: 'request of 207 kB, a conversation',
    body: longConversation('chat-model', large),
    against: 'bare-parse',
    bar: 1,
    portkey: { provider: 'openai', under: '/json/v1' },
  },
  {
    ...json,
    name: 'request of 207 kB, one long text',
    body: requestBody('chat', 'chat-model', large, false),
    against: 'bare-parse',
    bar: 1,
  },
  {
    name: 'stream pass-through, 203 events',
    path: '/v1/chat/completions',
    barePath: '/stream/v1/chat/completions',
    body: requestBody('chat', 'stream-model', kilobyte, true),
    against: 'bare',
    bar: 0.8,
    expect: 'data: [DONE]',
    portkey: { provider: 'openai', under: '/stream/v1' },
  },
  {
    name: 'stream pass-through with captured bodies, 203 events',
    path: json.path,
    barePath: json.path,
    body: requestBody('chat', 'stream-model', kilobyte, true),
    ours: 'gateway-capture',
    against: 'gateway',
    expect: 'data: [DONE]',
  },
  {
    ...json,
    name: 'chat → messages, JSON',
    body: requestBody('chat', 'messages-model', kilobyte, false),
    against: 'bare',
    bar: 0.6,
    expect: '"object":"chat.completion"',
    portkey: { provider: 'anthropic', under: '/json/v1' },
  },
  {
    name: 'messages → chat, JSON',
    path: '/v1/messages',
    barePath: '/json/v1/messages',
    body: requestBody('messages', 'chat-model', kilobyte, false),
    headers: version,
    against: 'bare',
    bar: 0.6,
    expect: '"stop_reason":"end_turn"',
  },
  {
    ...json,
    name: 'chat → messages, request of 207 kB',
    body: longConversation('messages-model', large),
    against: 'bare-parse',
    bar: 0.7,
    expect: '"object":"chat.completion"',
  },
  {
    name: 'chat → messages, stream of 203 events',
    path: json.path,
    barePath: '/stream/v1/messages',
    body: requestBody('chat', 'messages-stream-model', kilobyte, true),
    against: 'bare',
    bar: 0.45,
    expect: 'data: [DONE]',
  },
  {
    name: 'messages → chat, stream of 203 events',
    path: '/v1/messages',
    barePath: '/stream/v1/chat/completions',
    body: requestBody('messages', 'stream-model', kilobyte, true),
    headers: version,
    against: 'bare',
    bar: 0.45,
    expect: 'event: message_stop',
  },
  ...frameworks.map((framework) => ({
    ...json,
    name: `${framework}, JSON pass-through, 1 kB`,
    ours: framework,
    against: /** @type {const} */ (`${framework}-bare`),
    bar: 0.8,
  })),
]
