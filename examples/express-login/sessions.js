import { createHash, randomBytes } from 'node:crypto'

const lifetimeMs = 12 * 60 * 60 * 1000

/** @param {string} id */
const digest = (id) => createHash('sha256').update(id).digest('base64')

/**
 * Stores sessions in the memory of this process: a restart ends them. It stores digests, so that neither a memory dump nor lookup
 * times reveal a session id.
 * @param {{ secure: boolean }} options secure: browsers connect by https
 */
export function createSessions({ secure }) {
  /** @type {Map<string, { userId: string, until: number }>} */
  const sessions = new Map()
  // Browsers accept a cookie with this prefix only from this host and by https.
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
     * Creates a new id with each login, which prevents session fixation.
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
