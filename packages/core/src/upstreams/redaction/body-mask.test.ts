import { describe, expect, it } from 'vitest'
import { openai } from '../openai.ts'
import { BodyMask } from './body-mask.ts'

const key = 'sk-canary-0123456789abcdef'
const other = 'sk-proj-qF7w2Xr9Tz5bLk0'
const clientToken = 'mg-client-4711-token'
const created = 'ya29.short-lived-canary-token'

function maskOf(text: string): string {
  const upstreams = [key, other].map((apiKey) => openai({ apiKey, baseURL: 'https://api.example.com/v1' }))
  const mask = new BodyMask(upstreams)
  mask.addHeaders({ authorization: `Bearer ${clientToken}`, 'content-type': 'application/json' })
  mask.addHeaders({ authorization: `Bearer ${created}`, 'accept-encoding': 'identity' })
  return mask.mask(text)
}

describe('a copied body', () => {
  it.each([
    ['the key of an upstream', `{"content":"my key is ${key}, ok?"}`, '{"content":"my key is ***, ok?"}'],
    ['a part of it', `Incorrect key ${key.slice(4)}`, 'Incorrect key ***'],
    ['the key of another upstream', `{"key":"${other}"}`, '{"key":"***"}'],
    ['the token of the client', `{"text":"${clientToken}"}`, '{"text":"***"}'],
    ['a token that was created for this call', `{"a":"${created}"}`, '{"a":"***"}'],
    ['a credential in base64', `{"a":"${btoa(key)}"}`, '{"a":"***="}'],
    ['an unnecessarily escaped credential', `{"a":"${key.replace('k', '\\u006b')}"}`, '{"a":"***"}'],
  ])('loses %s', (_what, text, expected) => expect(maskOf(text)).toBe(expected))

  it('loses a credential with characters that JSON escapes', () => {
    const mask = new BodyMask([])
    mask.addHeaders({ 'x-api-key': 'quote"back\\slash"secret' })
    expect(mask.mask(JSON.stringify({ a: 'quote"back\\slash"secret' }))).toBe('{"a":"***"}')
  })

  it.each([
    ['Authorization: Bearer abcdefghijk', 'Authorization: Bearer ***'],
    ['{"authorization":"Bearer xyz-98765-abc"}', '{"authorization":"Bearer ***"}'],
    ['{\\"Authorization\\": \\"Bearer xyz-98765-abc\\"}', '{\\"Authorization\\": \\"Bearer ***\\"}'],
    ['curl -H "x-api-key: 0123456789"', 'curl -H "x-api-key: ***"'],
    ['{"x-goog-api-key":"AIzaSyCanary0"}', '{"x-goog-api-key":"***"}'],
    ['https://host/path?api_key=0123456789&n=1', 'https://host/path?api_key=***&n=1'],
    ['we sent Basic dXNlcjpwYXNzd29yZDE=', 'we sent Basic ***'],
    ['{"client_secret":"canary-secret"}', '{"client_secret":"***"}'],
  ])('loses what looks like a credential: %s', (text, expected) => expect(maskOf(text)).toBe(expected))

  it.each([
    'Use bearer authentication: the bearer authorization header names a token.',
    '{"usage":{"total_tokens":123456789},"max_tokens":4096}',
    '{"accept":"identity","content":"application/json"}',
    'Call https://api.example.com/v1/models.',
    '{"password":"***"}',
    '',
  ])('keeps everything else: %s', (text) => expect(maskOf(text)).toBe(text))

  it('is masked in linear time', () => {
    for (const part of [
      'Bearer ',
      'authorization: ',
      'api-key=',
      'Bearer a',
      `${key.slice(0, 11)} `,
      '\\u006',
      'cookie ',
    ])
      expect(maskOf(part.repeat(100_000)).length).toBeGreaterThan(10)
  })
})
