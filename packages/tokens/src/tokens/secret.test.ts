import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { digestOf, hasTokenForm, hintOf, newSecret, sameDigest, tokenPattern } from './secret.ts'

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secrets = Array.from({ length: 50 }, newSecret)

describe('a secret', () => {
  it('consists of mg-, 43 random characters and a checksum', () => {
    for (const secret of secrets) {
      expect(secret).toMatch(/^mg-[0-9A-Za-z]{49}$/)
      expect(hasTokenForm(secret)).toBe(true)
    }
    expect(new Set(secrets).size).toBe(secrets.length)
  })

  it('uses all letters and digits equally often', () => {
    const counts = new Map<string, number>()
    const many = Array.from({ length: 2000 }, newSecret)
    // The first character is not quite uniform: 62^43 is 2 % above 2^256.
    for (const secret of many) for (const char of secret.slice(4, -6)) counts.set(char, (counts.get(char) ?? 0) + 1)
    const expected = (many.length * 42) / 62
    expect(counts.size).toBe(62)
    // Six standard deviations: about one false alarm in eight million runs of this test.
    const deviation = 6 * Math.sqrt(expected)
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(deviation)
  })

  it('is the only text that the pattern for secret scanners matches', () => {
    const [secret = ''] = secrets
    for (const text of [secret, `MG_KEY=${secret}`, `"apiKey": "${secret}",`, `?key=${secret}&x=1`, `${secret}\n`])
      expect(tokenPattern.exec(text)?.[0]).toBe(secret)
    for (const text of [`x${secret}`, `${secret}x`, secret.slice(0, -1), 'mg-', secret.replace('mg-', 'sk-')])
      expect(tokenPattern.test(text)).toBe(false)
  })

  it('has a hint that consists of its first characters', () => {
    expect(hintOf('mg-Ab3dEfgh')).toBe('mg-Ab3d')
  })
})

describe('the checksum', () => {
  const [secret = ''] = secrets

  it('detects a wrong character in every position', () => {
    for (let at = 0; at < secret.length; at++)
      for (const char of `${letters}-_ é`)
        if (char !== secret[at])
          expect([at, char, hasTokenForm(secret.slice(0, at) + char + secret.slice(at + 1))]).toEqual([at, char, false])
  })

  it('detects a dropped or doubled character', () => {
    for (let at = 0; at < secret.length; at++) {
      expect(hasTokenForm(secret.slice(0, at) + secret.slice(at + 1))).toBe(false)
      expect(hasTokenForm(secret.slice(0, at + 1) + secret.slice(at))).toBe(false)
    }
  })

  it('detects two swapped neighbors', () => {
    for (const one of secrets)
      for (let at = 0; at < one.length - 1; at++) {
        const [a = '', b = ''] = [one[at], one[at + 1]]
        if (a !== b) expect(hasTokenForm(one.slice(0, at) + b + a + one.slice(at + 2))).toBe(false)
      }
  })

  it.each([
    ['an empty text', ''],
    ['only the prefix', 'mg-'],
    ['another prefix', secret.replace('mg-', 'mk-')],
    ['a secret in capitals', secret.toUpperCase()],
    ['a truncated secret', secret.slice(0, 30)],
    ['a trailing line break', `${secret}\n`],
    ['two concatenated secrets', secret + secret],
    ['a very long text', 'mg-'.padEnd(100_000, 'a')],
  ])('rejects %s', (_, text) => {
    expect(hasTokenForm(text)).toBe(false)
  })
})

describe('a digest', () => {
  it('is a SHA-256 hash', () => {
    expect(digestOf('mg-x')).toBe(createHash('sha256').update('mg-x').digest('hex'))
  })

  it.each([
    [digestOf('a'), digestOf('a'), true],
    [digestOf('a'), digestOf('b'), false],
    [digestOf('a'), digestOf('a').slice(1), false],
    [digestOf('a'), '', false],
  ])('compares %s with %s as equal: %s', (one, other, same) => {
    expect(sameDigest(one, other)).toBe(same)
  })
})
