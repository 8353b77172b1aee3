import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'mg-'
/** 62^43 is just above 2^256. */
const randomChars = 43
/** 62^6 is above 2^32. */
const checkChars = 6
const hintChars = prefix.length + 4

/**
 * What a token's secret looks like, for secret scanners: `mg-`, 43 letters and digits that are random, and 6 that are a
 * checksum. `hasTokenForm` tells whether the checksum is right, too.
 */
export const tokenPattern = /\bmg-[0-9A-Za-z]{49}\b/

const wholePattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomChars + checkChars}}$`)

/** A new secret: 256 bits from the system's random source. */
export function newSecret(): string {
  const body = prefix + base62Of(randomBytes(32), randomChars)
  return body + checksumOf(body)
}

/**
 * Whether a text can be a secret of ours: its length, its letters and its checksum are right. Every single wrong character
 * and every two neighbours in the wrong order are found out; of other mistakes, all but one in four thousand million.
 */
export function hasTokenForm(text: string): boolean {
  if (!wholePattern.test(text)) return false
  const body = text.slice(0, -checkChars)
  return text.slice(-checkChars) === checksumOf(body)
}

/** What is kept of a secret: SHA-256, as hexadecimal digits. With 256 random bits there is nothing to be guessed from it. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Compares two digests in a time that tells nothing of where they differ. */
export function sameDigest(one: string, other: string): boolean {
  const bytes = Buffer.from(one)
  const others = Buffer.from(other)
  return bytes.length === others.length && timingSafeEqual(bytes, others)
}

/** The beginning of a secret, to tell tokens apart by eye. 24 of its 256 bits. */
export const hintOf = (secret: string): string => secret.slice(0, hintChars)

const checksumOf = (body: string): string => base62(BigInt(crc32(body)), checkChars)

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A number in letters and digits, the least significant at the end, padded with `0` to a width. */
export function base62(number: bigint, width: number): string {
  let rest = number
  let text = ''
  for (let at = 0; at < width; at++) {
    text = alphabet.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

/** Bytes as one number in letters and digits. */
export const base62Of = (bytes: Buffer, width: number): string => base62(BigInt(`0x${bytes.toString('hex')}`), width)
