"""Readiness: GET /readyz answers 200 when nothing keeps the process from its work, else 503 and why."""

from aiohttp import web

from runtime.problems import Problems


def readiness_routes(problems: Problems) -> list[web.RouteDef]:
    """GET /readyz and, as long as the process lives, GET /healthz."""

    async def readyz(_: web.Request) -> web.Response:
        sentences = problems.sentences
        return web.Response(status=503 if sentences else 200, text="\n".join(sentences) or "ok")

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    return [web.get("/readyz", readyz), web.get("/healthz", healthz)]
