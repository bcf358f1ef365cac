// The part of ws that the kit uses. The package ws contains no types.
declare module "ws" {
  import type { EventEmitter } from "node:events";
  import type { IncomingMessage, Server } from "node:http";

  export class WebSocket extends EventEmitter {
    constructor(url: string, options?: { headers?: Record<string, string>; perMessageDeflate?: boolean });
    send(data: string): void;
    close(code?: number): void;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: { server: Server; perMessageDeflate: boolean; verifyClient: (info: { req: IncomingMessage }) => boolean });
  }
}
