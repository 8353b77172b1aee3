// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { expect, it } from 'vitest'
import { expand } from './expand.ts'

const env = { KEY: 'k-1', EMPTY: '' }

it.each([
  ['${KEY}', 'k-1'],
  ['a ${KEY} b ${KEY}', 'a k-1 b k-1'],
  ['${NONE:-other}', 'other'],
  ['${EMPTY:-other}', 'other'],
  ['${KEY:-other}', 'k-1'],
  ['${NONE:-}', ''],
  ['${NONE:-a:-b}', 'a:-b'],
  ['$${KEY}', '${KEY}'],
  ['$KEY', '$KEY'],
])('replaces %s by %s', (text, expected) => {
  expect(expand(text, env)).toBe(expected)
})

it('expands strings at any depth and leaves other values and names unchanged', () => {
  const data = { a: [{ b: '${KEY}' }], c: 1, d: null, e: true, '${KEY}': 'name' }
  expect(expand(data, env)).toEqual({ a: [{ b: 'k-1' }], c: 1, d: null, e: true, '${KEY}': 'name' })
})

it.each([
  [{ upstreams: { x: { apiKey: '${NONE}' } } }, 'upstreams.x.apiKey needs the environment variable NONE'],
  [{ list: ['a', '${EMPTY}'] }, 'list[1] needs the environment variable EMPTY'],
  [{ a: '${not a name}' }, 'a contains the invalid reference ${not a name}: write ${NAME} or ${NAME:-default}'],
])('reports the variable and its location in %j', (data, words) => {
  expect(() => expand(data, env)).toThrow(words)
})
