import { expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import type { Codec } from '../codec.ts'
import { geminiCodec } from '../gemini/codec.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { exchangeOf } from './exchange.test-support.ts'

/** Values that are told in words, and cannot be made words of by `String`: what is called for that is no function. */
const wordless: JsonObject = { toString: 1, valueOf: 2 }
const schema = (properties: JsonObject): JsonObject => ({
  model: 'm',
  input: 'hi',
  text: {
    format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object', properties, required: ['a'] } },
  },
})

const cases: readonly [what: string, body: JsonObject][] = [
  [
    "a grammar's syntax",
    {
      model: 'm',
      input: 'hi',
      tools: [{ type: 'custom', name: 'run', format: { type: 'grammar', syntax: wordless, definition: 'a' } }],
    },
  ],
  ["a format of a schema's text", schema({ a: { type: 'string', format: wordless } })],
  [
    'the types of schemas that exclude each other',
    schema({ a: { oneOf: [{ type: [wordless, 'string'] }, { type: [wordless] }] } }),
  ],
]

test.each(cases)('%s that is an object breaks no translation', (_, body) => {
  const upstreams: readonly Codec[] = [geminiCodec, messagesCodec]
  for (const upstream of upstreams) {
    const { sent, losses } = exchangeOf(responsesCodec, body, upstream, 'm')
    expect(JSON.stringify({ sent, losses })).toContain('toString')
  }
})
