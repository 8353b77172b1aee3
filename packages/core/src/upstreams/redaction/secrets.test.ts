import { describe, expect, it } from 'vitest'
import { createGateway } from '../../gateway/create-gateway.ts'
import { openai } from '../openai.ts'
import { addCredentials } from '../outgoing-call.ts'
import type { Upstream } from '../upstream.ts'
import { redact, redactorOf } from './redactor.ts'

const key = 'sk-qF7w2Xr9/Tz5bLk0+Vn3mHd8'
const upstream = openai({
  apiKey: key,
  baseURL: 'http://10.1.2.3:9000/v1',
  headers: { 'http-referer': 'https://app.test/of-ours', 'x-title': 'Ours' },
})
const never = { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('redaction of a text', () => {
  it.each<[string, string, string]>([
    ['masks a credential', `bad ${key}!`, 'bad ***!'],
    ['masks every occurrence of a credential', `${key} ${key}`, '*** ***'],
    ['masks the beginning of a credential', `bad ${key.slice(0, 12)}… here`, 'bad ***… here'],
    ['masks the end of a credential', `bad …${key.slice(-13)}`, 'bad …***'],
    ['masks the middle of a credential within other characters', `ab${key.slice(5, 18)}cd`, 'ab***cd'],
    ['masks two parts of a credential', `${key.slice(0, 13)}****${key.slice(-12)}`, '**********'],
    ['masks a URL-encoded credential', `?key=${encodeURIComponent(key)}&x`, '?key=***&x'],
    [
      'masks a credential with escaped slashes',
      `{"m":"${key.replace('/', '\\/')} \\" \\\\ \\n"}`,
      '{"m":"*** \\" \\\\ \\n"}',
    ],
    [
      'masks a credential with escaped letters',
      `{"m":"${[...key].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('')}"}`,
      '{"m":"***"}',
    ],
    ['keeps adjacent escapes whole', `{"m":"\\u00e9${key.slice(3)}\\n"}`, '{"m":"\\u00e9***\\n"}'],
    ['masks the address', 'at http://10.1.2.3:9000/v1 by 10.1.2.3:9000', 'at [upstream]/v1 by [upstream]'],
    ['masks the whole value of a configured header', 'from https://app.test/of-ours', 'from ***'],
    [
      'masks a credential URL-encoded in lower case',
      `?key=${encodeURIComponent(key).replace(/%../g, (code) => code.toLowerCase())}&x`,
      '?key=***&x',
    ],
    ['masks a credential URL-encoded twice', `?key=${encodeURIComponent(encodeURIComponent(key))}&x`, '?key=***&x'],
    ['masks a hexadecimal credential', `0x${Buffer.from(key).toString('hex')} no`, '0x*** no'],
    [
      'masks a truncated hexadecimal credential in capitals',
      `0x${Buffer.from(key).toString('hex').toUpperCase().slice(0, 20)}.. no`,
      '0x***.. no',
    ],
    ['masks the host without its port', 'connect to 10.1.2.3 failed', 'connect to [upstream] failed'],
  ])('%s', (_, text, expected) => expect(redact(text, upstream)).toBe(expected))

  it.each<[string, Partial<Upstream>, string, string]>([
    [
      'masks the password of a Basic login',
      { headers: { authorization: `Basic ${base64('us:tIger-lily-7731')}` } },
      'no tIger-lily-7731',
      'no ***',
    ],
    [
      'masks a short password of a Basic login',
      { headers: { authorization: `Basic ${base64('us:Ti9')}` } },
      'not Ti9!',
      'not ***!',
    ],
    [
      'masks an encoded Basic login',
      { headers: { authorization: `Basic ${base64('us:Ti9aa8bb7')}` } },
      base64('us:Ti9aa8bb7'),
      '***',
    ],
    [
      'masks a key after another scheme',
      { headers: { authorization: 'Api-Key k7Fq2' } },
      "bad key 'k7Fq2'",
      "bad key '***'",
    ],
    [
      'masks a key in the query',
      { query: '?api-version=2024-10-21&key=Qz5b-Lk0' },
      'no Qz5b-Lk0 in 2024-10-21',
      'no *** in 2024-10-21',
    ],
    [
      'keeps the name of an author, which is not a credential',
      { headers: { 'x-title-author': 'Acme' } },
      'by Acme',
      'by Acme',
    ],
    ['masks a key in the path', { baseURL: 'https://up.test/t/x8Kd0-qW3z/v1' }, 'no x8Kd0-qW3z', 'no ***'],
    [
      'masks a long key of the path that is cut and encoded',
      { baseURL: 'https://up.test/x8Kd0qW3zLm5/v1' },
      base64('x8Kd0qW3zLm5'),
      '***',
    ],
    [
      'masks a path of several words',
      { baseURL: 'https://up.test/hidden-path/v1' },
      'POST /hidden-path/v1/chat',
      'POST [upstream]/chat',
    ],
    ['masks the login in a base URL', { baseURL: 'https://us:pA55-word@up.test/v1' }, 'for pA55-word', 'for ***'],
  ])('%s', (_, given, text, expected) => {
    expect(redact(text, { ...upstream, headers: {}, ...given })).toBe(expected)
  })

  it.each(['k7F', 'k7Fq', 'k7Fq2', 'k7Fq2x', 'k7Fq2xW'])('masks a short key only as a whole word: %s', (short) => {
    const of = openai({ apiKey: short })
    expect(redact(`key ${short}: "${short}",${short}.`, of)).toBe('key ***: "***",***.')
    expect(redact(JSON.stringify({ m: `a\n${short}\tb` }), of)).toBe('{"m":"a\\n***\\tb"}')
    for (const text of [`x${short}`, `${short}x`, `_${short}`, `${short}-1`]) expect(redact(text, of)).toBe(text)
  })

  it.each(['', 'x', 'ab', 'abc:'])('masks base64 of the key after %j', (before) => {
    const text = redact(`basic ${base64(`${before}${key}`)} no`, upstream)
    const windows = base64(`${before}${key}`)
    for (let at = 4; at + 16 < windows.length; at++) expect(text).not.toContain(windows.slice(at, at + 12))
    expect(text).toMatch(/^basic .{0,8}\*\*\*.{0,4} no$/)
  })

  it.each(['\\', '\\u', 'C:\\', '\n', '\u00e9', '"', '\\\\'])(
    'masks a whole short key after %j and keeps the JSON valid',
    (before) => {
      const short = 'ub7f2-Kx9wQz'
      const text = redact(JSON.stringify({ m: `${before}${short}` }), openai({ apiKey: short }))
      expect(JSON.parse(text)).toEqual({ m: `${before}***` })
    },
  )

  it('takes linear time, even if much of the text resembles parts of a credential', () => {
    const near = `${key.slice(0, 11)} `.repeat(40_000)
    const start = performance.now()
    expect(redact(near, upstream)).toBe(near)
    expect(performance.now() - start).toBeLessThan(10_000)
  })

  it('masks the credentials of all recent calls', async () => {
    let made = 0
    const hosted: Upstream = {
      ...upstream,
      authorize: () => ({ authorization: `Bearer ya29.token-${++made}-of-many` }),
    }
    const call = { method: 'POST', url: 'http://x.test', headers: {}, body: '{}' }
    for (let calls = 0; calls < 3; calls++) await addCredentials(hosted, call, never)
    expect(redact('ya29.token-1-of-many ya29.token-3-of-many', hosted)).toBe('*** ***')
  })

  it('masks an access token in successful responses, and a signature in errors', async () => {
    const signature = 'AWS4-HMAC-SHA256 Credential=AKIA1234567890/x, Signature=0123456789abcdef0123456789abcdef'
    const made = { authorization: signature, 'x-amz-security-token': 'session-Qz5bLk0Vn3mHd8' }
    const hosted: Upstream = { ...upstream, authorize: () => made }
    await addCredentials(hosted, { method: 'POST', url: 'http://x.test', headers: {}, body: '{}' }, never)
    expect(redactorOf(hosted).redactJson('{"note":"session-Qz5bLk0Vn3mHd8"}')).toBe('{"note":"***"}')
    expect(redact('got 0123456789abcdef0123 for AKIA1234567890', hosted)).toBe('got *** for ***')
  })
})

it('masks a credential in the upstream’s request id', async () => {
  const ids: unknown[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: upstream },
    models: { '*': 'up' },
    logger: false,
    fetch: async () => Response.json({ choices: [] }, { headers: { 'x-request-id': `req-${key}` } }),
    plugins: [{ name: 'witness', onFinish: ({ attempts }) => void ids.push(attempts[0]?.upstreamRequestId) }],
  })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
  await gateway.fetch('http://gateway.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(ids).toEqual(['req-***'])
})

describe('text without secrets', () => {
  it.each([
    ['unrelated words', 'max_tokens: 10'],
    ['too few characters of a credential', key.slice(0, 11)],
    ['a part of a header that is not a credential', 'see https://app.test/'],
    ['words, regions and versions of an address', 'us-central1 v1beta1 projects deployments 2024-10-01-preview'],
    ['escapes without a secret', '{"a":"\\/ \\u0041 \\\\u0041 \\""}'],
  ])('is unchanged: %s', (_, text) => expect(redact(text, upstream)).toBe(text))
})
