import { expect, it } from 'vitest'
import { editJson } from './edit.ts'
import { scanJson } from './scan.ts'
import type { JsonObject } from './types.ts'

const edit = (text: string, set: JsonObject, drop: readonly string[] = []): string =>
  editJson(text, scanJson(text, 100).members, set, drop)

it.each([
  ['sets what is new', '{"a":1}', { b: [2] }, [], '{"a":1,"b":[2]}'],
  ['replaces, every time it stands there', '{"a":1,"b":2,"a":3}', { a: 9 }, [], '{"b":2,"a":9}'],
  ['drops', '{"model":"m", "a":1 ,"model":"n"}', {}, ['model'], '{"a":1}'],
  ['drops the last one', '{ "a" : 1 }', {}, ['a'], '{}'],
  ['sets on an empty object', '{}', { a: 1 }, ['b'], '{"a":1}'],
  [
    'keeps values as written',
    '{"n":12345678901234567890,"s":"\\u00e4","o":{"x": 1.0}}',
    { z: 0 },
    [],
    '{"n":12345678901234567890,"s":"\\u00e4","o":{"x": 1.0},"z":0}',
  ],
])('%s', (_name, text, set, drop, wanted) => expect(edit(text, set as JsonObject, drop)).toBe(wanted))
