// Exchanges with different costs, for measurements inside one process.
import { conversation } from './codec-conversation.js'
import { streamOf } from './codec-streams.js'
import { chunksOf } from './in-process.js'
import { answerBody, requestBody } from './payloads.js'

/** @typedef {import('./in-process.js').Exchange} Exchange */

const encoder = new TextEncoder()
const model = 'bench-model'
const kilobyte = 1024

/** @param {'chat' | 'messages'} format */
const jsonAnswer = (format) => encoder.encode(answerBody(format, kilobyte))

/** Returns a client's request of some kB with tools, as bytes. @param {import('./codec-streams.js').Format} format */
const streamBody = (format) => encoder.encode(conversation(format))

/** @type {Readonly<Record<string, Exchange>>} */
export const exchanges = {
  'chat → chat, JSON': {
    client: 'chat',
    upstream: 'chat',
    body: requestBody('chat', model, kilobyte, false),
    answer: jsonAnswer('chat'),
    expect: '"finish_reason":"stop"',
  },
  'chat → chat, stream': {
    client: 'chat',
    upstream: 'chat',
    body: streamBody('chat'),
    answer: chunksOf(streamOf('chat', 'text')),
    expect: 'data: [DONE]',
  },
  // Without usage, tokens are estimated at the end.
  'chat → chat, stream without usage': {
    client: 'chat',
    upstream: 'chat',
    body: streamBody('chat'),
    answer: chunksOf(streamOf('chat', 'text').filter(({ data }) => !data.includes('"usage":{'))),
    expect: 'data: [DONE]',
  },
  'chat → messages, JSON': {
    client: 'chat',
    upstream: 'messages',
    body: requestBody('chat', model, kilobyte, false),
    answer: jsonAnswer('messages'),
    expect: '"object":"chat.completion"',
  },
  'messages → chat, JSON': {
    client: 'messages',
    upstream: 'chat',
    body: requestBody('messages', model, kilobyte, false),
    answer: jsonAnswer('chat'),
    expect: '"stop_reason":"end_turn"',
  },
  'chat → messages, stream': {
    client: 'chat',
    upstream: 'messages',
    body: streamBody('chat'),
    answer: chunksOf(streamOf('messages', 'text')),
    expect: 'data: [DONE]',
  },
  'messages → chat, stream': {
    client: 'messages',
    upstream: 'chat',
    body: streamBody('messages'),
    answer: chunksOf(streamOf('chat', 'text')),
    expect: 'event: message_stop',
  },
  'responses → gemini, stream': {
    client: 'responses',
    upstream: 'gemini',
    body: streamBody('responses'),
    answer: chunksOf(streamOf('gemini', 'tools')),
    expect: 'event: response.completed',
  },
}
