/** Express 4 beside Express 5: what is used of it is the same, and its own types would clash. */
declare module 'express4' {
  import type express from 'express'

  const express4: typeof express
  export default express4
}
