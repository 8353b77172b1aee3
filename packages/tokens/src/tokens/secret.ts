import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'mg-'
/** 62^43 is just above 2^256. */
const randomChars = 43
/** 62^6 is above 2^32. */
const checkChars = 6
const hintChars = prefix.length + 4

/**
 * The form of a token's secret, for secret scanners: `mg-`, 43 random letters and digits, and a checksum of 6. `hasTokenForm` also verifies
 * the checksum.
 */
export const tokenPattern = /\bmg-[0-9A-Za-z]{49}\b/

const wholePattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomChars + checkChars}}$`)

/** Creates a secret with 256 bits from the system's random source. */
export function newSecret(): string {
  const body = prefix + base62Of(randomBytes(32), randomChars)
  return body + checksumOf(body)
}

/**
 * Returns whether a text has the form of a secret: its length, its characters and its checksum are valid. The checksum detects every single
 * wrong character, every swap of two neighbours, and all but one in four billion of other mistakes.
 */
export function hasTokenForm(text: string): boolean {
  if (!wholePattern.test(text)) return false
  const body = text.slice(0, -checkChars)
  return text.slice(-checkChars) === checksumOf(body)
}

/** Returns the digest of a secret that stores keep: SHA-256 in hexadecimal digits. Secrets have 256 random bits, so no salt or slow hash is needed. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Compares two digests in constant time. */
export function sameDigest(one: string, other: string): boolean {
  const bytes = Buffer.from(one)
  const others = Buffer.from(other)
  return bytes.length === others.length && timingSafeEqual(bytes, others)
}

/** Returns the first characters of a secret, which reveal 24 of its 256 bits, so that people can tell tokens apart. */
export const hintOf = (secret: string): string => secret.slice(0, hintChars)

const checksumOf = (body: string): string => base62(BigInt(crc32(body)), checkChars)

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Encodes a number in base 62, padded with `0` to a width. */
export function base62(number: bigint, width: number): string {
  let remainder = number
  let text = ''
  for (let at = 0; at < width; at++) {
    text = alphabet.charAt(Number(remainder % 62n)) + text
    remainder /= 62n
  }
  return text
}

/** Encodes bytes as one number in base 62. */
export const base62Of = (bytes: Buffer, width: number): string => base62(BigInt(`0x${bytes.toString('hex')}`), width)
