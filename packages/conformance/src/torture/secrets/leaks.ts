import { randomBytes } from 'node:crypto'

/** This many consecutive characters of a secret are a leak. */
const tell = 12

/** Returns a unique secret with characters that URLs and JSON encode. */
export const canary = (prefix: string): string => {
  const random = (): string => randomBytes(12).toString('base64url').replaceAll(/[_-]/g, 'x')
  return `${prefix}-${random()}/${random()}+${random()}`
}

/** Common ways to write a secret. */
export const spellings: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'as a bearer token': (secret) => `Bearer ${secret}`,
  'truncated at the end': (secret) => `${secret.slice(0, 24)}...`,
  'truncated at the start': (secret) => `...${secret.slice(-24)}`,
  base64: (secret) => Buffer.from(secret).toString('base64'),
  'base64 of a login': (secret) => Buffer.from(`user:${secret}`).toString('base64'),
  base64url: (secret) => Buffer.from(`k:${secret}`).toString('base64url'),
  'URL-encoded': encodeURIComponent,
  'with escaped slashes': (secret) => secret.replaceAll('/', '\\/'),
  'with Unicode escapes': (secret) =>
    [...secret].map((char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`).join(''),
}

/** Base64 depends on the number of preceding bytes. Without its ends, each of the three variants is constant. */
const base64Windows = (secret: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const text = Buffer.from(`${' '.repeat(before)}${secret}`)
      .toString('base64')
      .replaceAll('=', '')
    return windowsOf(text.slice(before === 0 ? 0 : 4, -2))
  })

const windowsOf = (text: string): string[] =>
  Array.from({ length: Math.max(0, text.length - tell + 1) }, (_, at) => text.slice(at, at + tell))

/** Searches for secrets, whole and in part, in all spellings. */
export interface Watch {
  /** @param name reported for a leak */
  guard(name: string, secret: string): void
  /** Returns the names of all secrets that leak into the text. */
  leaksIn(text: string): readonly string[]
}

export function createWatch(): Watch {
  const windows = new Map<string, string>()
  const seek = (text: string, found: Set<string>): void => {
    for (let at = 0; at + tell <= text.length; at++) {
      const name = windows.get(text.slice(at, at + tell))
      if (name !== undefined) found.add(name)
    }
  }
  return {
    guard(name, secret) {
      const hex = Buffer.from(secret).toString('hex')
      const plain = [secret, encodeURIComponent(secret), hex, hex.toUpperCase()].flatMap(windowsOf)
      const base64 = base64Windows(secret)
      const base64url = base64.map((window) => window.replaceAll('+', '-').replaceAll('/', '_'))
      for (const window of [...plain, ...base64, ...base64url]) windows.set(window, name)
    },
    leaksIn(text) {
      const found = new Set<string>()
      seek(text, found)
      // Also searches the text as a JSON parser would read it.
      if (text.includes('\\')) seek(unescaped(text), found)
      return [...found]
    },
  }
}

const unescaped = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('\\/', '/')
