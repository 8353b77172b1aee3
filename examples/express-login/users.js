import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isPassword, protect } from './passwords.js'

/** @typedef {{ id: string, name: string, password: string }} User */

const mostAttempts = 5
const attemptsMs = 15 * 60 * 1000

/**
 * Stores the users of this app in a file. Your app uses a database with unique names and hashed passwords.
 * @param {string} file
 */
export function openUsers(file) {
  /** @type {Map<string, User>} by name */
  const users = new Map()
  if (existsSync(file)) for (const user of JSON.parse(readFileSync(file, 'utf8'))) users.set(user.name, user)
  /** Failed logins by name and address: counting by name alone would let anyone lock out a user. @type {Map<string, { count: number, until: number }>} */
  const attempts = new Map()

  function save() {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(`${file}.new`, JSON.stringify([...users.values()], null, 2), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }

  /** Counted before the password is checked, so that parallel attempts count. @param {string} who */
  function mayTry(who) {
    const now = Date.now()
    for (const [other, { until }] of attempts) if (until <= now) attempts.delete(other)
    const attempt = attempts.get(who) ?? { count: 0, until: now + attemptsMs }
    attempts.set(who, attempt)
    return ++attempt.count <= mostAttempts
  }

  return {
    /** @param {string} id */
    nameOf: (id) => [...users.values()].find((user) => user.id === id)?.name,
    /** @param {string} name @param {string} password @returns {Promise<{ user: User } | { wrong: string }>} */
    async signUp(name, password) {
      if (!/^[a-z0-9][a-z0-9._-]{1,30}$/.test(name))
        return { wrong: 'A name is 2 to 31 small letters, digits, points, lines and underscores.' }
      if (password.length < 12 || password.length > 200) return { wrong: 'A password is 12 to 200 characters.' }
      // A separate id: a new user with the name of a removed one must not inherit tokens.
      const user = { id: `user_${randomBytes(12).toString('hex')}`, name, password: await protect(password) }
      if (users.has(name)) return { wrong: 'This name is taken.' }
      users.set(name, user)
      save()
      return { user }
    },
    /** @param {string} name @param {string} password @param {string} [address] of the client @returns {Promise<{ user: User } | { wrong: string }>} */
    async logIn(name, password, address = '') {
      const who = `${name.slice(0, 31)} ${address}`
      if (!mayTry(who)) return { wrong: 'Too many attempts: try again in 15 minutes.' }
      const user = users.get(name)
      if (!(await isPassword(password.slice(0, 200), user?.password)) || user === undefined)
        return { wrong: 'The name or the password is wrong.' }
      attempts.delete(who)
      return { user }
    },
  }
}
