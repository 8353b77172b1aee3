import { env } from 'cloudflare:workers'
import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'

export default { fetch: createSite(settingFrom(env)).fetch }
