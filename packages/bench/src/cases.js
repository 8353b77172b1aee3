// What is measured. Each bar is the least share of the bare proxy's throughput.
import { requestBody } from './payloads.js'

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} path as the client calls the gateway
 * @property {string} barePath as the client calls the bare proxy, which passes it on
 * @property {string} body
 * @property {{ [name: string]: string }} [headers]
 * @property {'bare' | 'bare-parse'} against
 * @property {number} [bar]
 * @property {string} expect what a good answer of the gateway holds
 */

const version = { 'anthropic-version': '2023-06-01' }

/** @type {readonly Case[]} */
export const cases = [
  {
    name: 'JSON pass-through, 1 kB',
    path: '/v1/chat/completions',
    barePath: '/json/v1/chat/completions',
    body: requestBody('chat', 'chat-model', 1024, false),
    against: 'bare',
    bar: 0.6,
    expect: '"finish_reason":"stop"',
  },
  {
    name: 'request of 200 kB',
    path: '/v1/chat/completions',
    barePath: '/json/v1/chat/completions',
    body: requestBody('chat', 'chat-model', 200 * 1024, false),
    against: 'bare',
    expect: '"finish_reason":"stop"',
  },
  {
    name: 'request of 200 kB, bare with JSON.parse',
    path: '/v1/chat/completions',
    barePath: '/json/v1/chat/completions',
    body: requestBody('chat', 'chat-model', 200 * 1024, false),
    against: 'bare-parse',
    expect: '"finish_reason":"stop"',
  },
  {
    name: 'stream pass-through, 200 events',
    path: '/v1/chat/completions',
    barePath: '/stream/v1/chat/completions',
    body: requestBody('chat', 'stream-model', 1024, true),
    against: 'bare',
    expect: 'data: [DONE]',
  },
  {
    name: 'chat → messages, JSON',
    path: '/v1/chat/completions',
    barePath: '/json/v1/chat/completions',
    body: requestBody('chat', 'messages-model', 1024, false),
    against: 'bare',
    expect: '"object":"chat.completion"',
  },
  {
    name: 'messages → chat, JSON',
    path: '/v1/messages',
    barePath: '/json/v1/messages',
    body: requestBody('messages', 'chat-model', 1024, false),
    headers: version,
    against: 'bare',
    expect: '"stop_reason":"end_turn"',
  },
]
