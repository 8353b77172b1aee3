import fc from 'fast-check'
import { expect, it } from 'vitest'
import { foldName, scanJson } from '../../base/json/json.ts'
import { modelPlaces, visitPlaces } from './model-places.ts'

const { root } = modelPlaces({
  names: ['a', 'b[].a', 'b[].c.a'],
  chooses: { d: ['fine'] },
  sameMembers: { 'b[].b': 'b', e: '' },
})

/** Lists the places that a scan of the text finds. */
function visited(source: string | Uint8Array): string[] {
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
  const found: string[] = []
  const place = (at: number): number => (source === text ? at : new TextEncoder().encode(text.slice(0, at)).length)
  const members = scanJson(text, 1000).members.map((one) => ({ ...one, start: place(one.start), end: place(one.end) }))
  visitPlaces(source, members, root, {
    name: (name, path) => void found.push(`${path}=${name}`),
    choice: (path) => void found.push(`${path}!`),
  })
  return found
}

/** Lists the places in the parsed value: the reference implementation. */
function expected(value: unknown): string[] {
  const found: string[] = []
  const walk = (at: unknown, part: string, path: string): void => {
    if (Array.isArray(at))
      for (const [index, item] of at.entries())
        walk(item, part, typeof item === 'object' && item !== null ? `${path}[${index}]` : path)
    else if (part === 'name' || part === 'choice') {
      if (at === null) return
      if (part === 'choice') {
        if (at !== 'fine') found.push(`${path}!`)
      } else if (typeof at !== 'object') found.push(`${path}=${at}`)
      else if ('model' in at) walk(at.model, 'name', `${path}.model`)
      else found.push(`${path}!`)
    } else if (typeof at === 'object' && at !== null)
      for (const [key, inner] of Object.entries(at)) {
        const next = parts[part]?.[key]
        if (next !== undefined) walk(inner, next, path === '' ? key : `${path}.${key}`)
      }
  }
  walk(value, 'root', '')
  return found
}
const parts: Record<string, Record<string, string>> = {
  root: { a: 'name', b: 'item', d: 'choice', e: 'root' },
  item: { a: 'name', b: 'item', c: 'inner' },
  inner: { a: 'name' },
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'model', 'x', '"', '\\', 'ä', '{')
const { object } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('', 'fine', 'name', ',"a":"no"', '\\', '"]}', 'ü', 'a\\"', null, true, 1.5e300, -0, 12),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
}))

it('finds the same places in text and bytes as in the parsed value', () => {
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify(value, null, space)
      const wanted = expected(JSON.parse(text))
      expect(visited(text).sort()).toEqual(wanted.sort())
      expect(visited(new TextEncoder().encode(text)).sort()).toEqual(wanted.sort())
    }),
    { numRuns: 2000 },
  )
})

it('throws for parts that nest deeper than 64 levels', () => {
  const depth = 200
  expect(() => visited(`${'{"b":['.repeat(depth)}${']}'.repeat(depth)}`)).toThrow('nested deeper than 64 levels')
  expect(() => visited(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)).toThrow('nested deeper than 64 levels')
})

it('reads each character of a body once for any shape', () => {
  for (const part of [
    '"x":"\\\\\\"",',
    '"x":[[[["y"]]]],',
    '"b":[{"c":{"x":"y"}}],'.replace('"b"', '"y"'),
    '"x":1 ,',
  ]) {
    const steps = [1000, 2000, 4000].map((count) => {
      const text = `{${part.repeat(count)}"a":"n"}`
      let read = 0
      const bytes = new Proxy(new TextEncoder().encode(text), {
        get(target, name) {
          if (typeof name === 'string' && name !== 'length' && !Number.isNaN(Number(name))) read++
          const found: unknown = Reflect.get(target, name)
          return typeof found === 'function' ? found.bind(target) : found
        },
      })
      visitPlaces(bytes, [{ key: 'e', start: 0, end: text.length }], root, { name() {}, choice() {} })
      return read / text.length
    })
    expect(Math.max(...steps) / Math.min(...steps), part).toBeLessThan(1.1)
  }
})

it.each(['model', 'Model', 'MODEL', 'mo_del', 'mODEL'])('folds %s to the same name', (name) => {
  expect(foldName(name)).toBe('model')
})

it('folds letters like the most tolerant parser', () => {
  expect(foldName('modelſ')).toBe('models')
  expect(foldName('\u212Aey')).toBe('key')
})
