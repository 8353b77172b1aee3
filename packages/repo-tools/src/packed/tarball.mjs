import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

const block = 512

/** @param {Buffer} bytes @param {number} from @param {number} length */
const text = (bytes, from, length) => {
  const field = bytes.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/**
 * Returns the files of a package's tarball by path below `package/`. Supports the subset that npm and pnpm write: plain files with
 * names of at most 255 bytes.
 * @param {string} file
 * @returns {Map<string, Buffer>}
 */
export function readTarball(file) {
  const bytes = gunzipSync(readFileSync(file))
  /** @type {Map<string, Buffer>} */
  const files = new Map()
  for (let at = 0; at + block <= bytes.length && bytes[at] !== 0; ) {
    const type = text(bytes, at + 156, 1)
    const prefix = text(bytes, at + 345, 155)
    const name = `${prefix === '' ? '' : `${prefix}/`}${text(bytes, at, 100)}`
    const size = Number.parseInt(text(bytes, at + 124, 12), 8)
    if (type !== '0' && type !== '' && type !== '5') throw new Error(`${file}: ${name} is of the unknown type ${type}.`)
    if (type !== '5') files.set(name.replace(/^package\//, ''), bytes.subarray(at + block, at + block + size))
    at += block + Math.ceil(size / block) * block
  }
  return files
}
