/**
 * Rejects requests that pages of other sites send with a user's cookie (cross-site request forgery). Browsers send the origin of a
 * request; a client without these headers is not a browser and sends no foreign cookies.
 * @param {import('express').Request} req @param {import('express').Response} res @param {() => void} next
 */
export function ownPagesOnly(req, res, next) {
  const site = req.get('sec-fetch-site')
  const origin = req.get('origin')
  const isOwn =
    req.method === 'GET' ||
    req.method === 'HEAD' ||
    (site === undefined
      ? // An older browser, or one connected by plain http.
        origin === undefined || (URL.canParse(origin) && new URL(origin).host === req.get('host'))
      : site === 'same-origin' || site === 'none')
  if (isOwn) next()
  else res.status(403).type('text').send('This was sent by a page of another site.')
}
