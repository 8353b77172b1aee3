import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import { type BodyOverrides, editRequestBody } from './request-body-edits.ts'
import type { HostedCall, Hosting } from './upstream.ts'

const unreported = { replaced() {}, lost() {} }

/** Returns the edited body and the fields that are reported as replaced. */
function dressed(body: string, wishes: BodyOverrides, hosting?: Hosting) {
  const replaced: string[] = []
  const call = { model: 'm', stream: true, header: (name: string) => `<${name}>` }
  const text = editRequestBody(body, wishes, hosting, {
    ...call,
    ...unreported,
    replaced: (field) => replaced.push(field),
  })
  return { text, replaced }
}
const body = '{"model":"m","temperature":1,"user":{"id":"u","tags":["a"]}}'

describe('defaults', () => {
  it.each<[string, string, JsonObject, string]>([
    ['add missing members', '{"a":1}', { b: { c: [2] } }, '{"a":1,"b":{"c":[2]}}'],
    ['keep existing members', '{"a":1}', { a: 2 }, '{"a":1}'],
    ['keep null, false, 0 and an empty string', '{"a":null,"b":false,"c":0,"d":""}', { a: 1, b: 1, c: 1, d: 1 }, ''],
    ['keep values of another type', '{"a":[],"b":{}}', { a: { x: 1 }, b: 2 }, ''],
    [
      'add missing members of objects at any depth',
      '{"a":{"x":1,"o":{}}}',
      { a: { x: 2, y: 3, o: { z: 4 } } },
      '{"a":{"x":1,"o":{"z":4},"y":3}}',
    ],
    ['keep null within an object', '{"a":{"x":null}}', { a: { x: 1, y: 2 } }, '{"a":{"x":null,"y":2}}'],
    ['may be null', '{}', { a: null, b: { c: null } }, '{"a":null,"b":{"c":null}}'],
    ['are added to an empty body', '{ }', { a: 1 }, '{"a":1}'],
  ])('%s', (_, given, defaults, expected) =>
    expect(dressed(given, { defaults })).toEqual({ text: expected === '' ? given : expected, replaced: [] }),
  )
})

describe('overrides', () => {
  it.each<[string, string, JsonObject, string, string[]]>([
    ['add missing members', '{"a":1}', { b: 2 }, '{"a":1,"b":2}', []],
    ['replace existing members', '{"a":1,"b":2}', { a: [3] }, '{"b":2,"a":[3]}', ['a']],
    ['report nothing if they change nothing', '{"a":[1]}', { a: [1] }, '{"a":[1]}', []],
    ['remove members with null', '{"a":1,"b":2}', { a: null }, '{"b":2}', ['a']],
    ['ignore the removal of a missing member', '{"b":2}', { a: null }, '{"b":2}', []],
    ['are merged with objects', '{"a":{"x":1,"y":2}}', { a: { y: 3, z: 4 } }, '{"a":{"x":1,"y":3,"z":4}}', ['a']],
    ['do not report added members', '{"a":{"x":1}}', { a: { z: { w: 4 } } }, '{"a":{"x":1,"z":{"w":4}}}', []],
    [
      'remove members of objects',
      '{"a":{"x":1,"y":{"z":2}}}',
      { a: { x: null, y: { z: null } } },
      '{"a":{"y":{}}}',
      ['a'],
    ],
    ['ignore removals within a missing object', '{}', { a: { x: null, y: 1 } }, '{"a":{"y":1}}', []],
    ['replace another value with an object', '{"a":"x"}', { a: { y: 1, z: null } }, '{"a":{"y":1}}', ['a']],
    ['replace an object with another value', '{"a":{"x":1}}', { a: 'y' }, '{"a":"y"}', ['a']],
    ['replace whole lists', '{"a":[{"x":1}]}', { a: [{ y: 2 }] }, '{"a":[{"y":2}]}', ['a']],
    ['replace each repeated field', '{"a":1,"a":2}', { a: 3 }, '{"a":3}', ['a']],
    ['replace null', '{"a":null}', { a: 1 }, '{"a":1}', ['a']],
  ])('%s', (_, given, overrides, text, replaced) => expect(dressed(given, { overrides })).toEqual({ text, replaced }))

  it('take precedence over defaults and are merged with them', () => {
    const wishes = { defaults: { a: 1, b: { x: 1, y: 1 }, c: 1 }, overrides: { a: 2, b: { y: 2 }, c: null } }
    expect(dressed('{}', wishes)).toEqual({ text: '{"a":2,"b":{"x":1,"y":2}}', replaced: [] })
  })

  it('are ignored if they are undefined', () => {
    const wishes = { overrides: { temperature: undefined, user: { id: undefined } } as unknown as JsonObject }
    expect(JSON.parse(dressed(body, wishes).text as string)).toEqual(JSON.parse(body))
    expect(dressed('{"a":1}', { defaults: { b: undefined } as unknown as JsonObject }).text).toBe('{"a":1}')
  })
})

describe('the rest of a body', () => {
  const odd =
    '{ "big": 12345678901234567890,\n "u":"\\u00e9", "twice":1, "twice":2, "in":{"big":1.0, "more":98765432109876543210}}'

  it('keeps its text', () =>
    expect(dressed(odd, { overrides: { a: 1 } }).text).toBe(
      '{"big":12345678901234567890,"u":"\\u00e9","twice":1,"twice":2,"in":{"big":1.0, "more":98765432109876543210},"a":1}',
    ))

  it('keeps its text within objects', () => {
    const text = '"in":{"big":1.0,"more":98765432109876543210,"a":{"b":1}}}'
    for (const wishes of [{ defaults: { in: { a: { b: 1 } } } }, { overrides: { in: { a: { b: 1 } } } }])
      expect(dressed(odd, wishes).text).toContain(text)
  })

  it('is not parsed without defaults and overrides', () => {
    expect(dressed('no JSON', {}).text).toBe('no JSON')
    expect(dressed('no JSON', {}, { modelInPath: { whole: '/a', stream: '/b' } }).text).toBe('no JSON')
    const bytes = new TextEncoder().encode(body)
    expect(
      editRequestBody(bytes, {}, undefined, { model: 'm', stream: false, header: () => undefined, ...unreported }),
    ).toBe(bytes)
  })

  it('is returned unchanged if defaults and overrides change nothing', () => {
    const spaced = '{ "a": 1 }'
    expect(dressed(spaced, { defaults: { a: 2 } }, { edit: () => ({}) }).text).toBe(spaced)
  })

  it('keeps member names such as __proto__', () => {
    const given = '{"__proto__":{"x":1},"o":{"__proto__":{"y":2},"constructor":3}}'
    expect(dressed(given, { overrides: { o: { a: 1 }, toString: 'x' } }).text).toBe(
      '{"__proto__":{"x":1},"o":{"__proto__":{"y":2},"constructor":3,"a":1},"toString":"x"}',
    )
  })
})

it('edits a body of bytes', () => {
  const call = { model: 'm', stream: false, header: () => undefined, ...unreported }
  const bytes = new TextEncoder().encode('{"a":"é"}')
  expect(editRequestBody(bytes, { overrides: { b: 1 } }, undefined, call)).toBe('{"a":"é","b":1}')
})

it.each(['[]', '"text"', '1', 'null'])('rejects %s, which is not an object', (text) =>
  expect(() => dressed(text, { defaults: { a: 1 } })).toThrow('The body is not an object and cannot be edited.'),
)

describe('a host’s edit', () => {
  it('receives the edited body, the model, the stream flag and the client’s headers', () => {
    const seen: Omit<HostedCall, 'header' | 'isRepeated'>[] = []
    const headers: (string | undefined)[] = []
    const edit = ({ body, model, stream, header }: HostedCall) => {
      seen.push({ body, model, stream })
      headers.push(header('anthropic-beta'))
      return {}
    }
    const wishes = { defaults: { b: 2, c: 3 }, overrides: { c: null, d: { e: 4 } } }
    expect(dressed('{"a":1,"c":1}', wishes, { edit }).text).toBe('{"a":1,"b":2,"d":{"e":4}}')
    expect(seen).toEqual([{ body: { a: 1, b: 2, d: { e: 4 } }, model: 'm', stream: true }])
    expect(headers).toEqual(['<anthropic-beta>'])
  })

  it.each([
    ['{"a":1}', ['a'], false],
    ['{"a":1,"b":{"a":2}}', ['a'], false],
    ['{"a":1,"\\u0061":1}', ['a'], true],
    ['{"a":{"b":1,"c":2}}', ['a', 'b'], false],
    ['{"a":{"b":1,"b":2}}', ['a', 'b'], true],
    ['{"a":{"b":1},"a":{}}', ['a', 'b'], true],
    ['{"a":[{"b":1,"b":2}]}', ['a', 'b'], false],
    ['{"a":"{\\"b\\":1}"}', ['a', 'b'], false],
    ['{}', ['a', 'b'], false],
  ])('learns whether %s repeats the member %j: %j', (body, path, expected) => {
    const seen: boolean[] = []
    dressed(body, {}, { edit: ({ isRepeated }) => ({ set: { repeated: seen.push(isRepeated(...path)) } }) })
    expect(seen).toEqual([expected])
  })

  it.each<[string, BodyOverrides, string]>([
    ['alone', {}, '{"big":12345678901234567890,"version":"1"}'],
    ['after a default', { defaults: { model: 'x', b: 1 } }, '{"big":12345678901234567890,"b":1,"version":"1"}'],
    ['over an override', { overrides: { version: '2', model: 'y' } }, '{"big":12345678901234567890,"version":"1"}'],
    [
      'over a member that an override removed',
      { overrides: { version: null } },
      '{"big":12345678901234567890,"version":"1"}',
    ],
  ])('sets and removes members (%s)', (_, wishes, text) => {
    const hosting: Hosting = { edit: () => ({ set: { version: '1' }, drop: ['model'] }) }
    expect(dressed('{"model":"m","big":12345678901234567890}', wishes, hosting).text).toBe(text)
  })
})
