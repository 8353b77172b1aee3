import { createHash, randomBytes } from 'node:crypto'

const lifetimeMs = 12 * 60 * 60 * 1000

/** @param {string} id */
const digest = (id) => createHash('sha256').update(id).digest('base64')

/**
 * Who is logged in, in the memory of this process: a restart logs everybody out. What is kept is a digest, so neither a dump of
 * the memory nor the time that a look-up takes tells an id.
 * @param {{ secure: boolean }} options secure: the browser reaches us by https
 */
export function createSessions({ secure }) {
  /** @type {Map<string, { userId: string, until: number }>} */
  const sessions = new Map()
  // A cookie with this prefix is taken from this host alone, and by https alone.
  const name = secure ? '__Host-session' : 'session'
  const cookie = { httpOnly: true, sameSite: /** @type {const} */ ('lax'), secure, path: '/' }

  /** @param {import('express').Request} req */
  const keyOf = (req) => {
    const given = (req.headers.cookie ?? '').split(/; */).find((pair) => pair.startsWith(`${name}=`))
    return given === undefined ? undefined : digest(given.slice(name.length + 1))
  }

  return {
    /** Sets `res.locals.userId`. @param {import('express').Request} req @param {import('express').Response} res @param {() => void} next */
    read(req, res, next) {
      const session = sessions.get(keyOf(req) ?? '')
      if (session !== undefined && session.until > Date.now()) res.locals.userId = session.userId
      next()
    },
    /**
     * A new id with each login: one that somebody else has planted is worth nothing.
     * @param {import('express').Request} req @param {import('express').Response} res @param {string} userId
     */
    open(req, res, userId) {
      sessions.delete(keyOf(req) ?? '')
      for (const [key, { until }] of sessions) if (until <= Date.now()) sessions.delete(key)
      const id = randomBytes(32).toString('base64url')
      sessions.set(digest(id), { userId, until: Date.now() + lifetimeMs })
      res.cookie(name, id, { ...cookie, maxAge: lifetimeMs })
    },
    /** @param {import('express').Request} req @param {import('express').Response} res */
    close(req, res) {
      sessions.delete(keyOf(req) ?? '')
      res.clearCookie(name, cookie)
    },
  }
}
