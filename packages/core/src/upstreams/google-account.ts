import { cacheUntilExpiry } from './access-token.ts'

/** Credentials in the JSON form of Google's tools: a service account's key, a user's refresh token, or a workload identity. */
export type GoogleCredentials = { readonly [field: string]: unknown }

export interface GoogleAccount {
  readonly keyFile?: string | undefined
  readonly credentials?: GoogleCredentials | undefined
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'

/**
 * Returns an `authorize` function for a Google account, by default the application default credentials. The token is cached until shortly
 * before it expires. The function rejects with the fix if google-auth-library is missing or finds no credentials.
 */
export function authorizeWithGoogle(
  account: GoogleAccount,
): () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  let client: ReturnType<typeof openClient> | undefined
  return cacheUntilExpiry(async () => {
    client ??= openClient(account)
    try {
      const opened = await client
      // In addition to the token, a user's own credentials name the project whose quota a call uses.
      const value = Object.fromEntries(await opened.getRequestHeaders())
      if (value.authorization === undefined)
        throw new Error('google-auth-library returned no access token for the Vertex AI upstream')
      return { value, expiresAt: opened.credentials.expiry_date ?? undefined }
    } catch (cause) {
      // A failed client is not kept, because credentials may exist by the next call.
      client = undefined
      throw cause
    }
  })
}

async function openClient({ keyFile, credentials }: GoogleAccount) {
  const GoogleAuth = await loadGoogleAuth()
  const auth = new GoogleAuth({
    scopes: scope,
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(credentials === undefined ? {} : { credentials }),
  })
  return auth.getClient()
}

async function loadGoogleAuth() {
  // A literal name within a `try` lets bundlers include the package if it is installed and continue if it is not.
  try {
    const { GoogleAuth } = await import('#google-auth-library')
    if (GoogleAuth === undefined) throw new Error('This runtime cannot run google-auth-library.')
    return GoogleAuth
  } catch (cause) {
    throw new Error(
      "Vertex AI requires google-auth-library to find Google's credentials, but it is not installed. Run npm install google-auth-library, or set token or apiKey in vertex()",
      { cause },
    )
  }
}
