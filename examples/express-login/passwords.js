import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** Cost of a hash: 32 MiB and about 200 ms of a thread. It is stored with each hash, so it can be raised at any time. */
const cost = { N: 2 ** 15, r: 8, p: 3 }
const bytes = 32
/** Limit of queued hashes: DNS lookups share the four threads of hashing, so a longer queue would delay the gateway's calls. */
const mostAtATime = 8
let running = 0

/** Too many hashes are queued. */
export class BusyError extends Error {}

/** @param {string} password @param {Buffer} salt @param {typeof cost} cost @returns {Promise<Buffer>} */
async function hash(password, salt, cost) {
  if (running >= mostAtATime) throw new BusyError('Too many log in at this moment: try again.')
  running++
  try {
    return await new Promise((resolve, reject) => {
      const options = { ...cost, maxmem: 256 * cost.N * cost.r }
      // NFKC normalization: é has two encodings.
      scrypt(password.normalize('NFKC'), salt, bytes, options, (error, key) => (error ? reject(error) : resolve(key)))
    })
  } finally {
    running--
  }
}

/** @param {string} password @returns {Promise<string>} the hash to store */
export async function protect(password) {
  const salt = randomBytes(16)
  const key = await hash(password, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), key.toString('base64')].join(':')
}

const unknownUser = ['scrypt', cost.N, cost.r, cost.p, randomBytes(16).toString('base64'), ''].join(':')

/**
 * Takes the same time for unknown users, so that response times do not reveal which names exist.
 * @param {string} password @param {string | undefined} kept
 */
export async function isPassword(password, kept) {
  const [, N, r, p, salt = '', wanted = ''] = (kept ?? unknownUser).split(':')
  const key = await hash(password, Buffer.from(salt, 'base64'), { N: Number(N), r: Number(r), p: Number(p) })
  const expected = Buffer.from(wanted, 'base64')
  return expected.length === key.length && timingSafeEqual(expected, key)
}
